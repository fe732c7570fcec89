import { spawn as spawnProgram } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApprovalRequest } from '../../../src/agent/approval/index.ts';
import type { Child, ChildEvent } from '../../../src/host/os/index.ts';
import { bytesOf, start } from '../native/fixture.ts';

const approval = fileURLToPath(new URL('../../../src/agent/approval/index.ts', import.meta.url));

/** Asks what its argument says, all at once, and prints the answers. */
const source = `
import { terminalApprover } from ${JSON.stringify(approval)};
const stop = new AbortController();
process.once('SIGUSR2', () => stop.abort());
const approver = terminalApprover();
const requests = JSON.parse(process.argv[2]);
const answers = await Promise.all(requests.map((request) => approver.ask(request, stop.signal)));
console.log('ANSWERS ' + JSON.stringify(answers));
`;

let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'terminal-approver-'));
  program = join(folder, 'ask.mjs');
  const entry = {
    name: 'entry',
    resolveId: (id: string) => (id === 'entry' ? id : null),
    load: (id: string) => (id === 'entry' ? source : null),
  };
  const bundle = await rolldown({
    input: 'entry',
    platform: 'node',
    plugins: [entry],
    transform: { target: 'node20.19' },
  });
  await bundle.write({ file: program, format: 'esm' });
  await bundle.close();
});
afterAll(() => rm(folder, { recursive: true }));

const base = { approvalId: 'a', itemId: 'call_1', environmentId: 'box', startedAtMs: 0 };
const command: ApprovalRequest = {
  ...base,
  kind: 'command',
  reason: 'may I \x1b[31mreally\x1b[0m',
  command: "/bin/bash -c 'API_TOKEN=hunter2 deploy now'",
  argv: ['/bin/bash', '-c', 'API_TOKEN=hunter2 deploy now'],
  cwd: '/work/dir',
  tty: false,
  sandboxPermissions: 'require_escalated',
  actions: [],
  proposedRule: ['deploy'],
  availableDecisions: ['accept', 'acceptWithRule', 'cancel'],
};
const network: ApprovalRequest = {
  ...base,
  kind: 'network',
  host: 'example.com',
  port: 443,
  protocol: 'https_connect',
  availableDecisions: ['accept', 'acceptForSession', 'acceptWithRule', 'denyWithRule', 'decline', 'cancel'],
};

const change: ApprovalRequest = {
  ...base,
  kind: 'fileChange',
  reason: 'may I',
  command: 'apply_patch /etc/hosts',
  changes: [{ kind: 'update', path: '/etc/hosts', diff: ['@@', '+127.0.0.1 \x1b[31mhere'] }],
  outside: ['/etc/hosts'],
  availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
};

const prompt = 'Your answer: ';

/** The program in a terminal of its own. */
class Terminal implements AsyncDisposable {
  screen = '';
  readonly #child: Child;
  readonly #events: AsyncIterator<ChildEvent>;

  constructor(...requests: ApprovalRequest[]) {
    const io = { type: 'pty', rows: 40, cols: 200 } as const;
    const env = { PATH: process.env.PATH ?? '', TERM: 'xterm' };
    this.#child = start([process.execPath, program, JSON.stringify(requests)], { io, env });
    this.#events = this.#child.events[Symbol.asyncIterator]();
  }

  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.screen);
      if (found) return found;
      const { value, done } = await this.#events.next();
      if (done) throw new Error(`the program ended with this on its screen:\n${this.screen}`);
      this.screen += bytesOf(value).toString();
    }
  }

  /** Waits until the question has been asked that many times, then types. */
  async type(keys: string, times = 1): Promise<void> {
    await this.shows(new RegExp(`(?:${prompt}[^]*){${times}}`));
    await this.#child.stdin!.write(Buffer.from(keys));
  }

  async abort(): Promise<void> {
    await this.shows(new RegExp(prompt));
    this.#child.signal(constants.signals.SIGUSR2);
  }

  async answers(): Promise<unknown> {
    return JSON.parse((await this.shows(/ANSWERS (.*)\r\n/))[1]!);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#child[Symbol.asyncDispose]();
  }
}

describe('a question at the terminal', () => {
  it('shows the command, its directory and its reason, with nothing left out and nothing the terminal would obey', async () => {
    await using terminal = new Terminal(command);
    await terminal.type('y\r');
    await terminal.answers();

    expect(terminal.screen).toContain("/bin/bash -c 'API_TOKEN=hunter2 deploy now'");
    expect(terminal.screen).toContain('/work/dir');
    expect(terminal.screen).toContain("$'may I \\e[31mreally\\e[0m'");
    expect(terminal.screen).toContain('outside the sandbox');
    expect(terminal.screen).toContain('always allow commands that start with deploy');
    expect(terminal.screen).not.toContain('\x1b[31m');
  });

  it('shows the files that change and what is written, and offers no rule', async () => {
    await using terminal = new Terminal(change);
    await terminal.type('a\r');
    await terminal.type('s\r', 2);

    expect(await terminal.answers()).toEqual([{ decision: 'acceptForSession' }]);
    expect(terminal.screen).toContain('Files that the sandbox protects are to be changed.');
    expect(terminal.screen).toContain("  update /etc/hosts\r\n      @@\r\n      +$'127.0.0.1 \\e[31mhere'\r\n");
    expect(terminal.screen).toContain('may I');
    expect(terminal.screen).toContain('do not ask about these files again in this session');
  });

  it.each([
    ['y\r', 'accept'],
    ['YES\r', 'accept'],
    ['s\r', 'acceptForSession'],
    ['a\r', 'acceptWithRule'],
    ['n\r', 'decline'],
    ['q\r', 'cancel'],
    ['\x03', 'cancel'],
    ['\x04', 'cancel'],
  ])('answered with %j means %s', async (keys, decision) => {
    await using terminal = new Terminal(command);
    await terminal.type(keys);

    expect(await terminal.answers()).toEqual([{ decision }]);
  });

  it('is repeated until the answer makes sense', async () => {
    await using terminal = new Terminal(command);
    await terminal.type('d\r');
    await terminal.type('\r', 2);
    await terminal.type('n\r', 3);

    expect(await terminal.answers()).toEqual([{ decision: 'decline' }]);
  });

  it('waits for the one before it', async () => {
    await using terminal = new Terminal(command, network);
    await terminal.type('y\r');
    await terminal.type('d\r', 2);

    expect(await terminal.answers()).toEqual([{ decision: 'accept' }, { decision: 'denyWithRule' }]);
    expect(terminal.screen).toContain('example.com:443 (https_connect)');
  });

  it('is withdrawn when its caller gives up, and so are those behind it', async () => {
    await using terminal = new Terminal(command, network);
    await terminal.abort();

    expect(await terminal.answers()).toEqual([{ decision: 'cancel' }, { decision: 'cancel' }]);
    expect(terminal.screen).not.toContain('example.com');
  });

  it('is declined at once without a terminal, though the input stays open', async () => {
    const child = spawnProgram(process.execPath, [program, JSON.stringify([command])], { stdio: 'pipe' });
    const printed = text(child.stdout);
    const [code] = await once(child, 'exit');
    child.stdin.destroy();

    expect([code, await printed]).toEqual([
      0,
      'ANSWERS [{"decision":"decline","reason":"there is no terminal to ask at"}]\n',
    ]);
  });
});
