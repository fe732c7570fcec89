import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TrackedProcess } from '../support/tracked-process.ts';
import { type Answer, connect, type WebSocketClient } from '../support/wire-client.ts';
import { isGuarded } from './guard.ts';
import { type ConfinedServer, SCRATCH } from './pair.ts';
import type { Step } from './sequence.ts';

export type Outcome = Readonly<Record<string, unknown>>;

/** Sends the steps of one sequence to one server, one after the other; the normalised answers, and the files at the end. */
export async function converse(server: ConfinedServer, lane: string, steps: readonly Step[]): Promise<Outcome[]> {
  const folder = join(server.scratch, lane);
  layOut(folder);
  await using client = await connect(server.url);
  const processes = new Map<string, TrackedProcess>();
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    if (!isGuarded(step, join(SCRATCH, lane))) throw new Error(`unguarded: ${JSON.stringify(step)}`);
    outcomes.push(await take(client, step, processes));
  }
  for (const [processId, tracked] of processes) {
    await client.call('process/terminate', { processId }).catch(() => {}); // it has ended
    await tracked.closed();
  }
  outcomes.push({ files: listing(folder) });
  return outcomes;
}

/** What every sequence finds. */
function layOut(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'folder/inner'), { recursive: true });
  mkdirSync(join(folder, 'empty'));
  writeFileSync(join(folder, 'file'), 'contents\n');
  writeFileSync(join(folder, 'folder/file'), 'more\n');
  symlinkSync('folder', join(folder, 'link'));
  symlinkSync('nothing', join(folder, 'dangling'));
}

async function take(client: WebSocketClient, step: Step, processes: Map<string, TrackedProcess>): Promise<Outcome> {
  if (step.raw !== undefined) return answerToRaw(client, step.raw);
  const { method, params = {} } = step;
  if (method !== 'process/start') return answerTo(client, method!, params, processes);
  const processId = params.processId as string;
  const known = processes.has(processId);
  const tracked = known ? undefined : client.track(processId);
  const outcome = await answerTo(client, method, params, processes);
  if (!tracked || !('result' in outcome)) return outcome;
  processes.set(processId, tracked);
  return { ...outcome, ...(await endOf(tracked, params)) };
}

/** The output and exit code of a process that ends by itself. */
async function endOf(tracked: TrackedProcess, params: Readonly<Record<string, unknown>>): Promise<Outcome> {
  const { argv, tty, pipeStdin } = params;
  if ((argv as string[])[0] === 'cat' && (tty || pipeStdin)) return {};
  await tracked.closed();
  const exited = tracked.notices.find(({ method }) => method === 'process/exited');
  return {
    exitCode: exited?.params.exitCode,
    output: Object.fromEntries(['stdout', 'stderr', 'pty'].map((stream) => [stream, tracked.output(stream)])),
  };
}

async function answerTo(
  client: WebSocketClient,
  method: string,
  params: Readonly<Record<string, unknown>>,
  processes: ReadonlyMap<string, TrackedProcess>,
): Promise<Outcome> {
  try {
    const result = await client.call(method, params);
    if (method === 'process/terminate') await processes.get(params.processId as string)?.closed();
    return { result: normalised(method, result) };
  } catch (error) {
    const { code, message } = error as { code?: number; message: string };
    return code === undefined ? { lost: message } : { error: { code, message } };
  }
}

/** Messages that a server cannot parse are answered with id -1, in words of its own. */
async function answerToRaw(client: WebSocketClient, raw: string): Promise<Outcome> {
  const seen = client.stray.length;
  client.raw(raw);
  const isNew = (message: unknown) => client.stray.indexOf(message as Answer) >= seen && 'id' in (message as object);
  const answer = (await client.strayUntil(isNew).catch(() => ({ id: 'closed' }))) as Answer;
  if (answer.id === -1) return { id: -1, code: answer.error?.code };
  return { id: answer.id, result: answer.result, error: answer.error };
}

/** Leaves out what may differ from run to run. */
function normalised(method: string, result: Record<string, unknown>): unknown {
  if (method === 'fs/getMetadata') return { ...result, createdAtMs: 0, modifiedAtMs: 0 };
  if (method === 'fs/readDirectory') return sorted(result.entries, 'fileName');
  if (method === 'fs/walk') {
    return { ...result, entries: sorted(result.entries, 'path'), errors: sorted(result.errors, 'path') };
  }
  if (method === 'process/read') {
    const { chunks: _chunks, nextSeq: _nextSeq, truncated: _truncated, oldestSeq: _oldestSeq, ...rest } = result;
    return rest;
  }
  return result;
}

const sorted = (list: unknown, key: string): unknown[] =>
  [...(list as Record<string, string>[])].sort((a, b) => (a[key]! < b[key]! ? -1 : 1));

/** Every file below, with its kind, mode and contents. */
function listing(folder: string, at = ''): string[] {
  return readdirSync(join(folder, at))
    .sort()
    .flatMap((name) => {
      const path = join(at, name);
      const status = lstatSync(join(folder, path));
      if (status.isSymbolicLink()) return [`${path} -> ${readlinkSync(join(folder, path))}`];
      if (status.isDirectory()) return [`${path}/ ${(status.mode & 0o777).toString(8)}`, ...listing(folder, path)];
      return [`${path} ${(status.mode & 0o777).toString(8)} ${readFileSync(join(folder, path), 'base64')}`];
    });
}
