// Starts the bundled server once, lets it do a little of everything, and saves what V8 compiled on the way.
'use strict';
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { WebSocket } = require('ws');

// V8 takes a cache only with the flags it was saved with, and the server is loaded with V8's own.
require('node:v8').setFlagsFromString = () => {};

const folder = join(__dirname, '..', 'dist', 'bin');
const write = process.stdout.write;
process.stdout.write = (line) => {
  process.stdout.write = write;
  exercise(String(line).trim()).then(save);
  return true;
};
process.argv.splice(1, 2, join(folder, 'exec-server.cjs'));
const scripts = require(join(folder, 'exec-server.cjs'));

async function exercise(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve) => socket.on('open', resolve));
  const send = (message) => socket.send(JSON.stringify(message));
  const closed = new Promise((resolve) => {
    socket.on('message', (message) => String(message).includes('process/closed') && resolve());
  });
  send({ id: 1, method: 'initialize', params: { clientName: 'build' } });
  send({ method: 'initialized', params: {} });
  send({ id: 2, method: 'environment/status', params: {} });
  const start = { processId: 'p', argv: ['/bin/cat'], cwd: 'file:///', env: {}, tty: false, pipeStdin: true };
  send({ id: 3, method: 'process/start', params: start });
  send({ id: 4, method: 'process/write', params: { processId: 'p', chunk: 'aGkK', writeId: '1' } });
  send({ id: 5, method: 'process/closeStdin', params: { processId: 'p' } });
  send({ id: 6, method: 'process/read', params: { processId: 'p', waitMs: 1000 } });
  await closed;
  const unanswered = new Set([12, 13, 14]);
  const answered = new Promise((resolve) => {
    socket.on('message', (message) => unanswered.delete(JSON.parse(message).id) && unanswered.size === 0 && resolve());
  });
  const entries = ['/usr', '/etc'].map((path) => ({ path: { type: 'path', path: `file://${path}` }, access: 'read' }));
  const sandbox = {
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    cwd: 'file:///usr',
  };
  const path = 'file:///etc/hostname';
  send({ id: 10, method: 'fs/getMetadata', params: { path, sandbox: null } });
  send({ id: 11, method: 'fs/readFile', params: { path, sandbox: null } });
  send({ id: 12, method: 'fs/readFile', params: { path, sandbox } });
  const root = { path: { type: 'special', value: { kind: 'root' } }, access: 'read' };
  const readable = {
    ...sandbox,
    permissions: { ...sandbox.permissions, file_system: { type: 'restricted', entries: [root] } },
  };
  send({ id: 13, method: 'fs/readFile', params: { path, sandbox: readable } });
  const confined = { ...start, processId: 'c', argv: ['/bin/true'], pipeStdin: false, sandbox: readable };
  send({ id: 14, method: 'process/start', params: confined }); // an error where there are no sandboxes
  await answered;
  socket.terminate();
}

function save() {
  for (const [filename, script] of scripts) writeFileSync(`${filename}.cache`, script.createCachedData());
  process.kill(process.pid, 'SIGTERM');
}
