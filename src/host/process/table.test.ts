import { describe, expect, it } from 'vitest';
import { type Deferred, deferred, silentLogger } from '../../base/index.ts';
import { PathUri } from '../../protocol/index.ts';
import { claimServerNumber, familyMark } from '../os/index.ts';
import { CommandLaunchers, SandboxHost } from '../sandbox/index.ts';
import { ProcessTable, type ProcessTableOptions } from './table.ts';

/** A client that is asked for answers. */
class Client {
  readonly #asked: Deferred<boolean>[] = [];
  #next = deferred();

  readonly answers = (): Promise<boolean> => {
    const answer = deferred<boolean>();
    this.#asked.push(answer);
    this.#next.resolve();
    return answer.promise;
  };

  /** Resolves when the client has been asked, with a function that gives its answer and lets it take effect. */
  async asked(): Promise<(answer: boolean) => Promise<void>> {
    if (this.#asked.length === 0) await this.#next.promise;
    this.#next = deferred();
    const question = this.#asked.shift()!;
    return async (answer) => {
      question.resolve(answer);
      await new Promise(setImmediate);
    };
  }
}

async function tableWithClosed(
  closedProcessMs: number,
  detachedMs?: number,
  answers = async () => true,
  more: object = {},
) {
  const server = claimServerNumber();
  let marks = 0;
  const table = new ProcessTable({
    audience: { send: () => {}, probe: () => {}, wantsDenials: false, answers },
    ownEnvironment: {},
    settings: () => ({
      retainedOutputBytesPerProcess: 1024,
      maxProcessesPerConnection: 10,
      allowDirectExec: true,
      allowPreparedExec: true,
    }),
    closedProcessMs,
    observer: {
      bytes: { output: 0, stdin: 0 },
      starting: () => ({ started: () => {}, failed: () => {}, exited: () => {} }),
    },
    sandboxes: new SandboxHost({ environment: {} }),
    launchers: new CommandLaunchers(),
    log: silentLogger,
    nextMark: () => familyMark(server, 1, ++marks),
  } as unknown as ProcessTableOptions);
  if (detachedMs !== undefined) table.detached(detachedMs);
  const params = {
    processId: 'p',
    argv: ['true'],
    cwd: PathUri.parse('/'),
    env: { PATH: '/usr/bin:/bin' },
    tty: false,
    ...more,
  };
  table.start({ ...params, pipeStdin: false } as unknown as Parameters<ProcessTable['start']>[0]);
  await table.get('p')!.view.wait({}, new AbortController().signal);
  return table;
}

const later = () => new Promise((resolve) => setTimeout(resolve, 300)); // many times as long as a closed process is kept here

describe('a closed process', () => {
  it('is forgotten after a while', async () => {
    await using table = await tableWithClosed(10);
    await later();
    expect(table.get('p')).toBeUndefined();
  });

  it('that ended while its session was detached is kept for as long as the session can be resumed', async () => {
    await using table = await tableWithClosed(10, 60_000);
    await later();
    expect(table.get('p')).toBeDefined();
  });

  it('that ended while its session was detached is forgotten as usual once it is attached', async () => {
    await using table = await tableWithClosed(10, 60_000);
    table.attached();
    await later();
    expect(table.get('p')).toBeUndefined();
  });

  it('is kept until its client gives a sign of life', async () => {
    const client = new Client();
    await using table = await tableWithClosed(10, undefined, client.answers);
    await (await client.asked())(false);
    const answer = await client.asked();
    expect(table.get('p')).toBeDefined();
    await answer(true);
    expect(table.get('p')).toBeUndefined();
  });

  it('whose client was lost before it gave a sign of life is kept for as long as the session can be resumed', async () => {
    const client = new Client();
    await using table = await tableWithClosed(10, undefined, client.answers);
    const answer = await client.asked();
    table.detached(60_000);
    await answer(true);
    expect(table.get('p')).toBeDefined();
  });

  it('can be read by a client that takes its session over, whatever the client before has answered', async () => {
    const client = new Client();
    await using table = await tableWithClosed(10, undefined, client.answers);
    const answer = await client.asked();
    table.attached();
    await answer(true);
    expect(table.get('p')).toBeDefined();
    await (await client.asked())(true);
    expect(table.get('p')).toBeUndefined();
  });

  it('whose output is to be fetched is kept until it was', async () => {
    const client = new Client();
    const more = { argv: ['echo', 'x'], delivery: 'pull' };
    await using table = await tableWithClosed(10, undefined, client.answers, more);
    await (await client.asked())(true);
    await later();
    const { view, nextSeq } = table.get('p')!;
    await view.readable({ processId: 'p', afterSeq: nextSeq - 1 }, new AbortController().signal);
    await later();
    expect(table.get('p')).toBeUndefined();
  });
});
