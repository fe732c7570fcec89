import { posix } from 'node:path';
import type { ExecRequest } from './exec-request.ts';
import { type FileIdentity, identityOf, isSame, statusOf } from './file-identity.ts';
import { tracePath } from './path-trace.ts';
import { scriptInterpreter } from './script-interpreter.ts';
import type { Places } from './writable-places.ts';

/** Whether a program may be started outside the sandbox. */
export type Trust =
  | { readonly trusted: true; readonly real: string; readonly identity: FileIdentity }
  | { readonly trusted: false; readonly real: string | undefined; readonly reason: string };

/** An interpreter may be a script itself; the kernel goes no deeper. */
const DEEPEST_SCRIPT = 5;

/**
 * Looks at what would be executed, here and now: the answer is worth nothing after the next question to the user. A program a
 * rule names by its path may lie anywhere.
 */
export function trustIn(request: ExecRequest, places: Places, namesPath: boolean): Trust {
  const path = absolutePath(request);
  const trace = tracePath(path);
  const status = trace && statusOf(trace.real);
  if (trace === undefined || !status?.isFile()) {
    return { trusted: false, real: undefined, reason: 'it is not there outside the sandbox' };
  }
  const { real } = trace;
  if (!hasOwnName(request)) return { trusted: false, real, reason: 'it is called by the name of another program' };
  if (!isAsItLooks(path, real)) return { trusted: false, real, reason: 'its path leads elsewhere than it looks' };
  const reason = namesPath && !hasDots(path) ? undefined : doubtAbout(path, request.workdir, places);
  if (reason !== undefined) return { trusted: false, real, reason };
  const identity = identityOf(status);
  const seen = statusOf(`/proc/${request.pid}/root${real}`);
  if (!isSame(identity, seen && identityOf(seen))) {
    return { trusted: false, real, reason: 'it is another file inside the sandbox' };
  }
  return { trusted: true, real, identity };
}

/** The path as the kernel would walk it. */
export function absolutePath({ file, workdir }: Pick<ExecRequest, 'file' | 'workdir'>): string {
  return file.startsWith('/') ? file : `${workdir}/${file}`;
}

/** What a rule says of a path without dots need not hold for one that only looks the same: links may be on its way. */
const hasDots = (path: string): boolean => path.split('/').includes('..');

/** Rules know a path without its dots, which lead elsewhere where links are on the way. */
const isAsItLooks = (path: string, real: string): boolean =>
  !hasDots(path) || tracePath(posix.normalize(path))?.real === real;

/** Many a program is several, or looks for its parts, by the name it is called. */
const hasOwnName = ({ file, argv }: ExecRequest): boolean => argv[0] === file || argv[0] === posix.basename(file);

/** The reason why a program is not trusted by its name alone. */
function doubtAbout(path: string, workdir: string, places: Places): string | undefined {
  let program: string | undefined = path;
  for (let depth = 0; program !== undefined; depth++) {
    if (depth === DEEPEST_SCRIPT) return `${program} is one of too many interpreters`;
    const trace = tracePath(program.startsWith('/') ? program : posix.join(workdir, program));
    if (trace === undefined) return `${program} is not there`;
    const writable = trace.places.find((place) => places.has(place));
    if (writable !== undefined) return `${writable} could have been changed by a command`;
    const owner = doubtAboutOwner(trace.real);
    if (owner !== undefined) return owner;
    program = scriptInterpreter(trace.real);
  }
  return undefined;
}

function doubtAboutOwner(path: string): string | undefined {
  const status = statusOf(path);
  if (status === undefined) return `${path} cannot be examined`;
  const owners = [0n, BigInt(process.geteuid?.() ?? 0)];
  if (!owners.includes(status.uid)) return `${path} belongs to another user`;
  return (status.mode & 0o022n) === 0n ? undefined : `${path} may be written by other users`;
}
