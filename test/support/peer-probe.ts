import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { makePublicFolder } from './public-folder.ts';

let program: string | undefined;

/** The path of a program that asks a server for a WebSocket; see peer-probe.c. */
export function peerProbe(): string {
  program ??= compiled();
  return program;
}

function compiled(): string {
  const target = join(makePublicFolder(), 'peer-probe');
  execFileSync('cc', ['-pthread', '-o', target, fileURLToPath(new URL('./peer-probe.c', import.meta.url))]);
  return target;
}

export interface ProbeOptions {
  readonly mode?: 'plain' | 'undumpable' | 'in-flight' | 'thread' | 'relay' | 'ping-pong';
  readonly token?: string | undefined;
  /** A program, with its arguments, to run the probe in. */
  readonly within?: readonly string[];
  readonly uid?: number;
}

export const portOf = (url: string): string => new URL(url.replace('ws:', 'http:')).port;

/** Asks the server from a process of its own; gives the status and the body of a refusal. */
export async function probe(url: string, options: ProbeOptions = {}): Promise<{ status: number; body: string }> {
  const { mode = 'plain', token, within = [], uid } = options;
  const [file = '', ...args] = [...within, peerProbe(), mode, portOf(url), ...(token === undefined ? [] : [token])];
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  return answerIn(await text(child.stdout));
}

/** A process that cannot be looked at and does nothing, until it is disposed. */
export async function undumpableProcess(uid?: number): Promise<AsyncDisposable> {
  const child = spawn(peerProbe(), ['stay', '0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  await once(child.stdout, 'data');
  return {
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

export function answerIn(printed: string): { status: number; body: string } {
  const [line = '', ...body] = printed.trimEnd().split('\n');
  return { status: Number(line.split(' ')[1]), body: body.join('\n') };
}
