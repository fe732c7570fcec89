import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import {
  type Child,
  type ChildEvent,
  type ExitStatus,
  familyMark,
  type SpawnOptions,
  spawn,
} from '../../../src/host/os/index.ts';

const server = Math.floor(Math.random() * 2 ** 22);
let count = 0;

/** A mark no other test uses. */
export function freshMark(): bigint {
  count += 1;
  return familyMark(server, process.pid % 2 ** 17, count);
}

/** Starts a program with pipes, in /, with only a PATH, unless told otherwise. */
export function start(argv: readonly string[], options: Partial<SpawnOptions> = {}): Child {
  return spawn({
    argv,
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    io: { type: 'pipe', stdin: 'closed' },
    mark: freshMark(),
    ...options,
  });
}

export const terminal = { type: 'pty', rows: 24, cols: 80 } as const;

/** The bytes an output event carries; nothing for other events. */
export function bytesOf(event: ChildEvent): Buffer {
  if (event.type !== 'output') return Buffer.alloc(0);
  const { buffer, start, end } = event.chunk;
  return Buffer.from(buffer.toString('latin1', start, end), 'base64');
}

export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
  readonly pty: string;
  readonly status: ExitStatus;
}

/** Takes every event of a child. */
export async function finish(child: Child): Promise<Finished> {
  const text = { stdout: '', stderr: '', pty: '' };
  for await (const event of child.events) {
    if (event.type === 'output') text[event.stream] += bytesOf(event).toString();
  }
  return { ...text, status: await child.exited };
}

/** Runs a program to its end. */
export async function run(argv: readonly string[], options: Partial<SpawnOptions> = {}): Promise<Finished> {
  return finish(start(argv, options));
}

/** Takes events until the output so far matches; the match. */
export async function outputMatching(child: Child, pattern: RegExp): Promise<RegExpExecArray> {
  let text = '';
  const events = child.events[Symbol.asyncIterator]();
  for (let step = await events.next(); !step.done; step = await events.next()) {
    text += bytesOf(step.value).toString();
    const match = pattern.exec(text);
    if (match !== null) return match;
  }
  throw new Error(`the output ended without ${pattern}: ${text}`);
}

/** src/host/os as one file a plain node process can import. */
export async function bundledOs(): Promise<string> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const file = join(root, 'build', 'test', `os-${process.pid}.mjs`);
  const bundle = await rolldown({
    input: join(root, 'src', 'host', 'os', 'index.ts'),
    platform: 'node',
    transform: { target: 'node20.19' },
  });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return file;
}

/** Whether a process runs: a zombie does not. */
export async function isAlive(pid: number): Promise<boolean> {
  const { stdout } = await run(['sh', '-c', 'cat /proc/$0/stat 2>/dev/null || true', String(pid)]);
  const state = stdout.slice(stdout.lastIndexOf(')') + 2)[0];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Resolves when the process no longer runs. */
export async function gone(pid: number): Promise<void> {
  if (!(pid > 0)) throw new Error(`${pid} is no process`);
  while (await isAlive(pid));
}
