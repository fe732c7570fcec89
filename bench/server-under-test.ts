import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { nativeFile } from '../src/host/os/index.ts';
import { ProcessTree, runsWorkload } from './process-tree.ts';

const announceTimeoutMs = 20_000;
const terminateTimeoutMs = 1_500;

export interface ServerCommand {
  name: string;
  /** Run by `sh -c`; prints its ws:// URL on stdout. */
  command: string;
  /** The command as a reader on another machine would type it. */
  shown: string;
  version?: string;
}

/** One fresh run of a server. */
export class ServerUnderTest {
  readonly url: string;
  readonly spawnedAt: number;
  readonly announcedAt: number;
  readonly use: ProcessTree;
  readonly #child: Child;

  private constructor(child: Child, spawnedAt: number, url: string) {
    this.announcedAt = performance.now();
    this.#child = child;
    this.spawnedAt = spawnedAt;
    this.url = url;
    this.use = ProcessTree.below(child.pid!);
  }

  static async start(command: string, env: NodeJS.ProcessEnv = process.env): Promise<ServerUnderTest> {
    const spawnedAt = performance.now();
    // Below a reaper, so that what a helper used is counted also where its parent has ended before it.
    const child: Child = spawn(nativeFile('init'), ['/bin/sh', '-c', `exec ${command}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
      detached: true,
    });
    try {
      return new ServerUnderTest(child, spawnedAt, await announcedUrl(child));
    } catch (error) {
      kill(ProcessTree.below(child.pid!).server);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const workload = this.use.workloadProcesses();
    await stop(this.#child, this.use.server);
    // A server that does not clean up after itself must not burden the next sample.
    for (const pid of workload.filter(runsWorkload)) kill(pid);
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

function announcedUrl(child: Child): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    let complaints = '';
    const fail = (reason: string) =>
      reject(new Error([reason, ...complaints.trim().split('\n')].filter(Boolean).join('; ')));
    const timer = setTimeout(() => fail(`no ws:// URL within ${announceTimeoutMs} ms`), announceTimeoutMs);
    child.stderr.on('data', (text) => {
      if (complaints.length < 4096) complaints += text;
    });
    child.stdout.on('data', (text) => {
      output += text;
      const url = /(ws:\/\/[^\s"']+).*\n/.exec(output)?.[1];
      if (!url) return;
      clearTimeout(timer);
      resolve(url);
    });
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      fail(`the server ended (${code ?? signal}) before it printed a URL`);
    });
  });
}

async function stop(child: Child, server: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const grace = new AbortController();
  const patience = sleep(terminateTimeoutMs, 'late', { signal: grace.signal }).catch(() => 'cancelled');
  if ((await Promise.race([exited, patience])) === 'late') kill(server); // its reaper ends with it
  grace.abort();
  await exited;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {} // it has ended by itself
}
