import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { appeared, argumentsOf, childrenOf, gone, uniqueSeconds } from '../support/proc.ts';
import { serverProgram } from '../support/server.ts';
import { base64, type WebSocketClient } from '../support/wire-client.ts';
import { type FaultRig, slow, survives, usual } from './fault-rig.ts';

/** Children of the server, by what they are. */
function childrenNamed(pid: number, name: RegExp): number[] {
  return childrenOf(pid)
    .map((child) => child.pid)
    .filter((child) => {
      const [program = ''] = argumentsOf(child);
      return program !== '' && name.test(program); // the dead have none
    });
}

const guardiansOf = (rig: FaultRig): number[] => childrenNamed(rig.pid, /guardian/);
const launchersOf = (rig: FaultRig): number[] => childrenNamed(rig.pid, /^(?!.*guardian)/s);

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has just ended by itself
    }
  }
}

/** A launcher and everything below it: a stopped bubblewrap alone does not stop what runs in the sandbox. */
const withDescendants = (pid: number): number[] => [
  pid,
  ...childrenOf(pid).flatMap((child) => withDescendants(child.pid)),
];

/** Launchers in whose sandbox a helper runs: one that waits has nothing below it yet. */
const helpersOf = (rig: FaultRig): number[] =>
  launchersOf(rig).filter((pid) => childrenOf(pid).some((child) => /fs-helper/.test(argumentsOf(child.pid)[0] ?? '')));

/** Starts a client of the command line that prints numbers. */
const printing = (rig: FaultRig, lines: number) =>
  spawn(process.execPath, [serverProgram, 'run', '--connect', rig.server.url, '--', 'seq', '1', `${lines}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

describe('a server whose own processes are killed', () => {
  it(
    'gets another guardian',
    survives(usual, async (rig) => {
      const guardians = guardiansOf(rig);
      expect(guardians.length).toBe(1);

      signal(guardians, 'SIGKILL');
      await gone(guardians);

      await expect.poll(() => guardiansOf(rig).length, { timeout: 20_000 }).toBe(1);
    }),
  );

  it(
    'serves on when waiting launchers and warm helpers are killed',
    survives(usual, async (rig) => {
      for (let round = 0; round < 3; round++) {
        const others = launchersOf(rig);
        signal(others, 'SIGKILL');
        await gone(others);
        await rig.serves();
      }
    }),
  );

  it(
    'ends a command whose launcher is killed, and everything it started',
    survives(usual, async (rig) => {
      await using client = await rig.connect();
      const seconds = uniqueSeconds();
      const before = new Set(childrenOf(rig.pid).map(({ pid }) => pid));
      const { sandbox } = rig;
      const script = `setsid sleep ${seconds} & exec sleep ${seconds}`;
      const command = await client.start({ argv: ['sh', '-c', script], cwd: rig.uri(''), sandbox });
      const sleeping = await appeared(seconds, 2);
      const launchers = childrenOf(rig.pid).filter(({ pid }) => !before.has(pid));

      signal(launchers.length > 0 ? launchers.map(({ pid }) => pid) : launchersOf(rig), 'SIGKILL');

      await Promise.race([command.closed(), client.call('process/terminate', { processId: command.id })]);
      await command.closed();
      await gone(sleeping);
    }),
  );

  it(
    'answers a file call whose helper is killed with an error, and the next one by another helper',
    survives(usual, async (rig) => {
      await using files = await ConfinedFiles.open(rig, 1);
      const [helper] = files.helpers;
      signal(helper!, 'SIGSTOP'); // so that the call is under way when it is killed
      const asked = files.write(0);
      signal(helper!, 'SIGKILL');

      await expect(asked).rejects.toThrow(/^fs sandbox helper failed with status signal: 9/);
      expect(await files.write(0)).toBe(ConfinedFiles.digest);
    }),
  );
});

/** Warm helpers of one client, each with a file of its own to write. */
class ConfinedFiles implements AsyncDisposable {
  static readonly #content = numbersTo(10_000); // little enough to be waited for
  static readonly digest = sha256(ConfinedFiles.#content);
  readonly #client: WebSocketClient;
  readonly #rig: FaultRig;
  readonly #folders: string[] = [];
  /** The processes of each helper: bubblewrap and what is in its sandbox. */
  readonly helpers: number[][] = [];

  private constructor(client: WebSocketClient, rig: FaultRig) {
    this.#client = client;
    this.#rig = rig;
  }

  static async open(rig: FaultRig, count: number): Promise<ConfinedFiles> {
    const files = new ConfinedFiles(await rig.connect(), rig);
    for (let n = 0; n < count; n++) await files.#add(join(rig.workspace, `place-${n}`));
    return files;
  }

  /** One policy more, and so one helper more. */
  async #add(folder: string): Promise<void> {
    mkdirSync(folder);
    const before = new Set(helpersOf(this.#rig));
    this.#folders.push(folder);
    await this.write(this.#folders.length - 1);
    const helper = helpersOf(this.#rig).find((pid) => !before.has(pid));
    if (helper === undefined) throw new Error('no helper was started');
    this.helpers.push(withDescendants(helper));
  }

  /** The digest of what a sandboxed call has written. */
  async write(n: number): Promise<string> {
    const file = join(this.#folders[n]!, 'numbers');
    rmSync(file, { force: true });
    const sandbox = this.#rig.confinedTo(this.#folders[n]!);
    const dataBase64 = base64(ConfinedFiles.#content);
    await this.#client.call('fs/writeFile', { path: pathToFileURL(file).href, dataBase64, sandbox });
    return sha256(readFileSync(file));
  }

  async disconnect(): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
    for (const folder of this.#folders) rmSync(folder, { recursive: true });
  }
}

describe('a stopped file helper', () => {
  it(
    'holds up only its own caller, which gets every byte when it goes on',
    survives(usual, async (rig) => {
      await using files = await ConfinedFiles.open(rig, 6); // more than Node has threads for calls that take long
      for (const helper of files.helpers) signal(helper, 'SIGSTOP');
      const asked = files.helpers.map((_, n) => files.write(n));

      await rig.serves();
      await copiesLargeFile(rig);

      for (const helper of files.helpers) signal(helper, 'SIGCONT');
      expect(await Promise.all(asked)).toEqual(files.helpers.map(() => ConfinedFiles.digest));
    }),
  );

  it(
    'ends with the connection of its client',
    survives(usual, async (rig) => {
      await using files = await ConfinedFiles.open(rig, 2);
      for (const helper of files.helpers) signal(helper, 'SIGSTOP');
      const asked = files.helpers.map((_, n) => files.write(n).catch((error: Error) => error.message));
      await files.disconnect();
      expect(await Promise.all(asked)).toEqual(files.helpers.map(() => 'the connection ended before the answer'));
      await gone(files.helpers.flat());
    }),
  );

  slow(
    'is given up after half a minute: its caller hears why, and the next call has another helper',
    survives(usual, async (rig) => {
      await using files = await ConfinedFiles.open(rig, 1);
      signal(files.helpers[0]!, 'SIGSTOP');

      await expect(files.write(0)).rejects.toThrow('fs sandbox helper failed no answer within 30 s');

      expect(await files.write(0)).toBe(ConfinedFiles.digest);
      await gone(files.helpers[0]!);
    }),
  );
});

/** A call that takes long, by the server itself. */
async function copiesLargeFile(rig: FaultRig): Promise<void> {
  await using client = await rig.connect();
  const content = Buffer.alloc(8 * 2 ** 20, 'large');
  await client.call('fs/writeFile', { path: rig.uri('large'), dataBase64: base64(content) });
  const { dataBase64 } = await client.call<{ dataBase64: string }>('fs/readFile', { path: rig.uri('large') });
  await client.call('fs/remove', { path: rig.uri('large') });
  expect(sha256(Buffer.from(dataBase64, 'base64'))).toBe(sha256(content));
}

describe('a stopped launcher', () => {
  it(
    'is replaced: the command and the file call that would have got it are carried out, once',
    survives(usual, async (rig) => {
      await using client = await rig.connect();
      const { sandbox } = rig;
      const cwd = rig.uri('');
      await (await client.start({ argv: ['true'], cwd, sandbox })).closed();
      await expect.poll(() => launchersOf(rig).length).toBeGreaterThan(1); // one for commands, one for helpers
      signal(launchersOf(rig).flatMap(withDescendants), 'SIGSTOP');

      const command = await client.start({ argv: ['sh', '-c', 'echo once >> log'], cwd, sandbox });
      await client.call('fs/writeFile', { path: rig.uri('x'), dataBase64: base64(Buffer.from('x')), sandbox });
      await command.closed();

      for (const [name, content] of [
        ['log', 'once\n'],
        ['x', 'x'],
      ] as const) {
        const { dataBase64 } = await client.call<{ dataBase64: string }>('fs/readFile', { path: rig.uri(name) });
        expect(Buffer.from(dataBase64, 'base64').toString()).toBe(content);
        await client.call('fs/remove', { path: rig.uri(name) });
      }
    }),
  );
});

describe('a peer that is stopped', () => {
  it(
    'does not hold up others, and has missed nothing when it goes on',
    survives(usual, async (rig) => {
      const lines = 3_000_000;
      const run = printing(rig, lines);
      await once(run.stdout, 'readable');
      run.kill('SIGSTOP');

      await rig.serves();
      run.kill('SIGCONT');

      expect(sha256(await buffer(run.stdout))).toBe(sha256(numbersTo(lines)));
    }),
  );

  slow(
    'is a server: its client gets every byte after it goes on',
    survives(usual, async (rig) => {
      const lines = 3_000_000;
      const run = printing(rig, lines);
      const output = buffer(run.stdout);
      await once(run.stdout, 'data');

      for (let round = 0; round < 5; round++) {
        process.kill(rig.pid, 'SIGSTOP');
        await new Promise((resolve) => setTimeout(resolve, 300)); // the stop itself
        process.kill(rig.pid, 'SIGCONT');
      }

      expect(sha256(await output)).toBe(sha256(numbersTo(lines)));
    }),
  );

  it(
    'is a guardian: the server serves, and ends all the same',
    survives(usual, async (rig) => {
      signal(guardiansOf(rig), 'SIGSTOP');
      const seconds = uniqueSeconds();
      const client = await rig.connect();
      await client.start({ argv: ['sleep', seconds] });
      const sleeping = await appeared(seconds);
      client.cut();
      await gone(sleeping);
    }),
  );
});
