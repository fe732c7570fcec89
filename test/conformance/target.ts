import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { adapt } from './deliberate-differences.ts';
import { Placeholders } from './placeholders.ts';
import { Replay } from './replay.ts';
import { ServerUnderTest } from './server-under-test.ts';
import { timingDependent } from './timing-dependent.ts';
import type { Transcript } from './transcript.ts';
import { Upstream } from './upstream.ts';
import { Workspace } from './workspace.ts';

/** A server that the transcripts can be replayed against. */
export interface Target {
  /** A shell command line. */
  command: string;
  /** Our server differs where deliberate-differences.ts says so; any other must do exactly what was recorded. */
  ours: boolean;
}

const program = resolve(import.meta.dirname, '../../dist/bin/exec-server.cjs');

/** Our own server, or the command line in CONFORMANCE_SERVER, which must behave as recorded. */
export function targetFromEnvironment(): Target {
  const command = process.env.CONFORMANCE_SERVER;
  return command ? { command, ours: false } : { command: `'${process.execPath}' '${program}'`, ours: true };
}

/** Replays the transcript against a fresh server in a fresh work directory. */
export async function replay(target: Target, recorded: Transcript): Promise<void> {
  const transcript = target.ours ? adapt(recorded) : recorded;
  // The reference refuses to keep its sandbox helper below a temporary directory, and CODEX_HOME is where it keeps it.
  const parent = target.ours ? tmpdir() : join(homedir(), '.cache', 'exec-server-conformance');
  await using workspace = await Workspace.create(parent, transcript.scenario, transcript.setup);
  await using upstream = await Upstream.start();
  const { known, secret } = await introduce(workspace, upstream);
  const args = argumentsFor(target, transcript).map((word) => known.fill(word));
  const env = environmentFor(workspace, transcript, known);
  await using server = ServerUnderTest.start({ command: target.command, args, cwd: workspace.work, env });
  const url = transcript.transport === 'stdio' ? undefined : await server.url();
  const concurrency = args[args.indexOf('--concurrent-requests') + 1];
  const sequential = args.includes('--concurrent-requests') ? concurrency === '1' : !target.ours;
  const freeMembers = (id: unknown) => timingDependent[`${transcript.scenario} ${id}`] ?? [];
  const stage = { server, url, workspace, known, secret, sequential, inOrder: target.ours, freeMembers };
  await new Replay(transcript, { ...stage, patienceMs: 30_000 }).run();
}

async function introduce(workspace: Workspace, upstream: Upstream) {
  const secret = randomBytes(32).toString('hex');
  const secretFile = workspace.path('secret');
  await writeFile(secretFile, secret);
  const { work } = workspace;
  const known = new Placeholders({
    work,
    parent: dirname(work),
    grandparent: dirname(dirname(work)),
    home: workspace.path('home'),
    codexHome: workspace.path('codex-home'),
    tmp: workspace.path('tmp'),
    secretFile,
    port: upstream.port,
    threadId: randomUUID(),
    processId1: `1-${randomUUID()}`,
    processId2: `2-${randomUUID()}`,
  });
  return { secret, known };
}

function argumentsFor({ ours }: Target, { scenario, serverArgs }: Transcript): string[] {
  const listen = serverArgs.includes('--listen') ? [] : ['--listen', 'ws://127.0.0.1:0'];
  // The reference handles one request at a time unless told otherwise, ours several.
  const dispatch = ours && scenario === 'inline-dispatch' ? ['--concurrent-requests', '1'] : [];
  return [...listen, ...serverArgs, ...dispatch];
}

function environmentFor(workspace: Workspace, { serverEnv }: Transcript, known: Placeholders): Record<string, string> {
  const given = Object.entries(serverEnv).map(([name, value]) => [name, known.fill(value)]);
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    LANG: 'C.UTF-8',
    // bash reads its start-up files when it believes that nothing started it.
    SHLVL: '1',
    HOME: workspace.path('home'),
    CODEX_HOME: workspace.path('codex-home'),
    TMPDIR: workspace.path('tmp'),
    ...Object.fromEntries(given),
  };
}
