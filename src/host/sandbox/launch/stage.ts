import { openSync } from 'node:fs';
import { once } from '../../../base/index.ts';
import { type Command, candidates, nativeFile, pathBytes } from '../../os/index.ts';
import type { Mount } from '../view/plan.ts';

export interface StageOptions {
  /** The descriptor of a seccomp program to install, where bubblewrap installs none. */
  readonly filter?: number;
  /** How refusals are watched. */
  readonly watch?: Watch | undefined;
  /** Mounts that the stage must find in the view. */
  readonly mounts?: readonly Mount[];
  /** Ports to listen on, and the descriptor of the channel through which the stage sends the listening sockets. */
  readonly listeners?: { readonly channel: number; readonly ports: readonly number[] };
}

/** A seccomp program that asks a supervisor, and the descriptor on which the supervisor reports refusals (native/stage/denials.h). */
export interface Watch {
  /** The descriptor for reports. */
  readonly reports: number;
  readonly program: Buffer;
  readonly ownNetwork: boolean;
  /** The descriptor of a channel to a supervisor outside the sandbox, which is asked about programs as well. */
  readonly supervisor?: number | undefined;
  /** Whether paths of the host may be missing in the view. */
  readonly partialView: boolean;
}

/** The request for native/stage/main.c. */
export function stageRequest({ argv, arg0, cwd, cwdIdentity, env }: Command, options: StageOptions = {}): Buffer {
  const { filter = -1, watch, mounts = [], listeners = { channel: -1, ports: [] } } = options;
  const program = argv[0] ?? '';
  const files = candidates(program, env.PATH);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const body = Buffer.concat([
    strings([String(filter), ...watchStrings(watch)]),
    strings([listeners.channel, listeners.ports.length, ...listeners.ports].map(String)),
    strings([String(2 * mounts.length)]),
    mountList(mounts),
    typeof cwd === 'string' ? strings([cwd]) : Buffer.concat([cwd, Buffer.alloc(1)]),
    strings([
      cwdIdentity ?? '-',
      String(files.length),
      ...files,
      String(argv.length),
      arg0 ?? program,
      ...argv.slice(1),
      ...variables,
    ]),
  ]);
  return Buffer.concat([strings([String(body.length)]), body]);
}

function watchStrings(watch: Watch | undefined): readonly string[] {
  if (!watch) return ['-1'];
  const { reports, program, ownNetwork, partialView, supervisor } = watch;
  const letters = `${ownNetwork ? 'n' : ''}${partialView ? 'p' : ''}${supervisor === undefined ? '' : 'o'}`;
  return [String(reports), letters, String(supervisor ?? -1), program.toString('hex')];
}

/** Mounts in the form that native code reads. */
export const mountList = (mounts: readonly Mount[]): Buffer => strings(mounts.flatMap(({ path, pin }) => [path, pin]));

/** Strings, each ended by NUL. */
export const strings = (list: readonly string[]): Buffer => pathBytes(list.map((text) => `${text}\0`).join(''));

export const stageProgram = (): string => nativeFile('sandbox-stage');

/** A descriptor with nothing to read, which stays open. */
export const nullDescriptor = once(() => openSync('/dev/null', 'r'));
