// Loaded into a server by NODE_OPTIONS: makes a mistake of the kind that INJECTED_FAULT names on SIGUSR2.
const { EventEmitter } = require('node:events');

const slip = () => new Error('an injected slip', { cause: new Error('the deeper reason') });

const faults = {
  rejection: () => void Promise.reject(slip()),
  exception: () => {
    throw slip();
  },
  descriptor: () =>
    new EventEmitter().emit('error', Object.assign(slip(), { code: 'EIO', errno: -5, syscall: 'read' })),
  clock: () => {
    const now = Date.now;
    Date.now = () => now() + 3_600_000;
  },
};

const fault = faults[process.env.INJECTED_FAULT];
if (fault) process.on('SIGUSR2', () => setImmediate(fault));
