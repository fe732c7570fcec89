import { describe, expect, it } from 'vitest';
import { deferred } from '../../base/index.ts';
import { ChildEvents } from '../os/child-events.ts';
import type { Child, ExitStatus } from '../os/index.ts';
import type { Confined } from '../sandbox/index.ts';
import type { ProcessAudience } from './audience.ts';
import { ManagedProcess } from './managed-process.ts';

/** A child whose events come from a test. */
class ScriptedChild implements Child {
  readonly pid = 1;
  readonly events = new ChildEvents(() => {});
  readonly stdin = undefined;
  readonly #exited = deferred<ExitStatus>();
  readonly exited = this.#exited.promise;

  exit(code: number): void {
    this.events.push({ type: 'exited', status: { code } });
    this.#exited.resolve({ code });
  }

  signal = () => true;
  join = () => 'joined' as const;
  resize = () => {};
  terminalMode = () => ({ canonical: true, echo: true, eof: 4 });
  closeOutputs = () => {};
  [Symbol.asyncDispose] = async () => {};
}

const confined = { claim: { [Symbol.dispose]() {} }, refused: false } as unknown as Confined;

describe('a managed process', () => {
  it('closes once, although its exit is still being sent when the last stream ends', async () => {
    const child = new ScriptedChild();
    const [sent, sending] = [deferred(), deferred()];
    let closed = 0;
    const audience: ProcessAudience = {
      send: (message) => {
        if (!String(message).includes('process/exited')) return;
        sending.resolve();
        return sent.promise; // the client reads slowly
      },
      probe: () => {},
      wantsDenials: false,
      wantsEndings: false,
      answers: async () => true,
    };
    const process = new ManagedProcess({
      processId: 'p',
      argv: ['any'],
      cwd: '/',
      io: { type: 'pipe', stdin: 'closed' },
      mark: 0n,
      child,
      confined,
      audience,
      retainedOutputBytes: 1024,
      bytes: { output: 0, stdin: 0 },
      onExited: () => {},
      onClosed: () => closed++,
      onFault: (error) => {
        throw error;
      },
    });

    child.exit(1); // held back for the last output of a sandboxed command
    await sending.promise;
    for (const stream of ['stdout', 'stderr'] as const) child.events.push({ type: 'ended', stream });
    child.events.complete();
    await process.view.wait({}, new AbortController().signal);
    sent.resolve();
    await new Promise((resolve) => setImmediate(resolve));

    expect(closed).toBe(1);
  });

  it('closes, although what its sandbox has put on the disk cannot be taken away', async () => {
    const child = new ScriptedChild();
    const [closed, fault] = [deferred(), deferred<unknown>()];
    const claim = {
      [Symbol.dispose]() {
        throw new Error('a read-only disk');
      },
    };
    new ManagedProcess({
      processId: 'p',
      argv: ['any'],
      cwd: '/',
      io: { type: 'pipe', stdin: 'closed' },
      mark: 0n,
      child,
      confined: { ...confined, claim },
      audience: {
        send: () => {},
        probe: () => {},
        wantsDenials: false,
        wantsEndings: false,
        answers: async () => true,
      },
      retainedOutputBytes: 1024,
      bytes: { output: 0, stdin: 0 },
      onExited: () => {},
      onClosed: closed.resolve,
      onFault: fault.resolve,
    });

    child.exit(0);
    for (const stream of ['stdout', 'stderr'] as const) child.events.push({ type: 'ended', stream });
    child.events.complete();

    await closed.promise;
    expect(String(await fault.promise)).toContain('a read-only disk');
  });
});
