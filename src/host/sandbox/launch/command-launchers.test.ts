import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOnlyPolicy } from '../../../../test/support/policy.ts';
import { childrenOf, gone, processesWith } from '../../../../test/support/proc.ts';
import { type Child, type Command, familyMark, killFamily, PROCESS_MASK } from '../../os/index.ts';
import { SandboxHost } from '../sandbox-host.ts';
import { CommandLaunchers } from './command-launchers.ts';
import { confine } from './confine.ts';

const sandboxes = new SandboxHost({ environment: {} });
let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-launchers-')));
});
afterAll(() => rmSync(folder, { recursive: true }));

let launches = 0;
const nextMark = (): bigint => familyMark(process.pid, 7, launches++);
const wirings: readonly Command['io'][] = [
  { type: 'pipe', stdin: 'closed' },
  { type: 'pipe', stdin: 'open' },
  { type: 'pty', rows: 24, cols: 80 },
];

const script = (text: string, io: Command['io'] = wirings[0]!, more: Partial<Command> = {}): Command => ({
  argv: ['/bin/sh', '-c', text],
  cwd: folder,
  env: { PATH: '/usr/bin:/bin', WORD: 'told' },
  io,
  ...more,
});

function start(launchers: CommandLaunchers, command: Command, mark = nextMark(), policy = readOnlyPolicy): Child {
  return launchers.spawn(confine(sandboxes, command, policy), mark);
}

async function outcomeOf(child: Child): Promise<{ text: string; status: unknown }> {
  let text = '';
  for await (const event of child.events) {
    if (event.type === 'output')
      text += Buffer.from(event.chunk.buffer.toString('latin1', event.chunk.start, event.chunk.end), 'base64');
  }
  return { text: text.replaceAll('\r', ''), status: await child.exited };
}

/** The launchers that wait at this moment: children of ours that know nothing but where their arguments come from. */
const waiting = (): number[] => {
  const children = childrenOf(process.pid).map(({ pid }) => pid);
  return processesWith('--args').filter((pid) => children.includes(pid));
};

describe('launchers of sandboxed commands', () => {
  it.each(wirings)('have the next one waiting when a command has been started with %j', async (io) => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true', io)));
    await nextTurn();
    const [waiter, ...others] = waiting();
    expect(others).toEqual([]);

    const child = start(launchers, script('exec 2>&1; echo $WORD; pwd; echo no > x', io));
    expect(child.pid).toBe(waiter);
    const { text, status } = await outcomeOf(child);
    expect(text).toMatch(`told\n${folder}\n`);
    expect(text).toMatch(/x: Read-only file system/);
    expect(status).toEqual({ code: 2 });
  });

  it('give a terminal the size that is asked for', async () => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true', wirings[2])));
    await nextTurn();
    const { text } = await outcomeOf(start(launchers, script('stty size', { type: 'pty', rows: 50, cols: 132 })));
    expect(text).toBe('50 132\n');
  });

  it('put the command into its family', async () => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true')));
    await nextTurn();
    const mark = nextMark();
    const child = start(launchers, script('echo up; exec sleep 1000'), mark);
    for await (const event of child.events) if (event.type === 'output') break;
    expect(await killFamily(mark, PROCESS_MASK)).toBeGreaterThan(0);
    expect(await child.exited).toHaveProperty('signal');
  });

  it('do not insist on one that has been killed', async () => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true')));
    await nextTurn();
    const [waiter] = waiting();
    process.kill(waiter!, 'SIGKILL');
    await gone(waiter!);
    expect(await outcomeOf(start(launchers, script('echo $WORD')))).toEqual({ text: 'told\n', status: { code: 0 } });
  });

  describe('do not insist on one that has been stopped', () => {
    const stopWaiting = async (launchers: CommandLaunchers, io?: Command['io']): Promise<number> => {
      await outcomeOf(start(launchers, script('true', io)));
      await nextTurn();
      const [waiter] = waiting();
      process.kill(waiter!, 'SIGSTOP');
      return waiter!;
    };

    it('and pass on what was typed meanwhile', async () => {
      await using launchers = new CommandLaunchers();
      const waiter = await stopWaiting(launchers, wirings[1]);
      const child = start(launchers, script('echo $WORD; exec cat', wirings[1]));
      await child.stdin!.write(Buffer.from('typed '));
      await child.stdin!.write(Buffer.from('meanwhile'));
      child.stdin!.end();
      expect(await outcomeOf(child)).toEqual({ text: 'told\ntyped meanwhile', status: { code: 0 } });
      await gone(waiter);
    });

    it('and pass on the size of the terminal', async () => {
      await using launchers = new CommandLaunchers();
      await stopWaiting(launchers, wirings[2]);
      const child = start(launchers, script('stty size', { type: 'pty', rows: 50, cols: 132 }));
      expect(await outcomeOf(child)).toEqual({ text: '50 132\n', status: { code: 0 } });
    });

    it('and have it end by a signal', async () => {
      await using launchers = new CommandLaunchers();
      await stopWaiting(launchers);
      const child = start(launchers, script('sleep 1000'));
      child.signal(constants.signals.SIGTERM);
      expect(await outcomeOf(child)).toEqual({ text: '', status: { code: 128 + constants.signals.SIGTERM } });
    });

    it('and run the command once, also when it goes on', async () => {
      await using launchers = new CommandLaunchers();
      const waiter = await stopWaiting(launchers);
      const child = start(launchers, script('echo $WORD'));
      process.kill(waiter, 'SIGCONT');
      expect(await outcomeOf(child)).toEqual({ text: 'told\n', status: { code: 0 } });
    });

    it('and start nothing for a command that is disposed', async () => {
      await using launchers = new CommandLaunchers();
      const waiter = await stopWaiting(launchers);
      const child = start(launchers, script('sleep 1000'));
      await child[Symbol.asyncDispose]();
      expect(child.pid).toBe(waiter);
      await gone(waiter);
    });
  });

  it('say what is wrong with a working directory, as without them', async () => {
    await using launchers = new CommandLaunchers();
    const lost = script('true', wirings[0], { cwd: join(folder, 'missing') });
    expect(() => start(launchers, lost)).toThrow(/^chdir .*ENOENT/);
    await outcomeOf(start(launchers, script('true')));
    await nextTurn();
    expect(() => start(launchers, lost)).toThrow(/^chdir .*ENOENT/);
  });

  it('take an environment of any size', async () => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true')));
    await nextTurn();
    const env = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`V${n}`, 'x'.repeat(100_000)]));
    const { text } = await outcomeOf(
      start(launchers, script('printf %s "$V9" | wc -c', wirings[0], { env: { PATH: '/usr/bin:/bin', ...env } })),
    );
    expect(text).toBe('100000\n');
  });

  it('wait for no command that uses the network', async () => {
    await using launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true'), nextMark(), { ...readOnlyPolicy, network: 'enabled' }));
    await nextTurn();
    expect(waiting()).toEqual([]);
  });

  it('are gone when they are disposed', async () => {
    const launchers = new CommandLaunchers();
    await outcomeOf(start(launchers, script('true')));
    await nextTurn();
    expect(waiting()).toHaveLength(1);
    await launchers[Symbol.asyncDispose]();
    expect(waiting()).toEqual([]);
  });
});
