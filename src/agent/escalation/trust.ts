import { posix } from 'node:path';
import type { ExecRequest } from './exec-request.ts';
import { type FileIdentity, identityOf, isSame, statusOf } from './file-identity.ts';
import { tracePath } from './path-trace.ts';
import { scriptInterpreter } from './script-interpreter.ts';
import type { WritablePaths } from './writable-paths.ts';

/** Whether a program may be started outside the sandbox. */
export type Trust =
  | { readonly trusted: true; readonly real: string; readonly identity: FileIdentity }
  | { readonly trusted: false; readonly real: string | undefined; readonly reason: string };

/** An interpreter may be a script itself; the kernel follows no more of them. */
const DEEPEST_SCRIPT = 5;

/**
 * Judges the file that would be executed at this moment: after a question to the user it must be judged again. A program that a
 * rule names by its path may lie anywhere.
 */
export function trustOf(request: ExecRequest, writable: WritablePaths, ruleNamesPath: boolean): Trust {
  const path = absolutePath(request);
  const trace = tracePath(path);
  const status = trace && statusOf(trace.real);
  if (trace === undefined || !status?.isFile()) {
    return { trusted: false, real: undefined, reason: 'it is not there outside the sandbox' };
  }
  const { real } = trace;
  if (!hasOwnName(request)) return { trusted: false, real, reason: 'it is called by the name of another program' };
  if (!isAsItLooks(path, real)) return { trusted: false, real, reason: 'its path leads elsewhere than it looks' };
  const reason = ruleNamesPath && !hasDots(path) ? undefined : doubtAbout(path, request.workdir, writable);
  if (reason !== undefined) return { trusted: false, real, reason };
  const identity = identityOf(status);
  const seen = statusOf(`/proc/${request.pid}/root${real}`);
  if (!isSame(identity, seen && identityOf(seen))) {
    return { trusted: false, real, reason: 'it is another file inside the sandbox' };
  }
  return { trusted: true, real, identity };
}

/** The path as the kernel would resolve it, with its dots. */
export function absolutePath({ file, workdir }: Pick<ExecRequest, 'file' | 'workdir'>): string {
  return file.startsWith('/') ? file : `${workdir}/${file}`;
}

/** A rule for `/a/c` need not mean `/a/b/../c`: where `b` is a link, the paths differ. */
const hasDots = (path: string): boolean => path.split('/').includes('..');

/** Whether the path without its dots, which rules match, leads to the same file. */
const isAsItLooks = (path: string, real: string): boolean =>
  !hasDots(path) || tracePath(posix.normalize(path))?.real === real;

/** Some programs behave as another one, or look for their parts, by the name in `argv[0]`. */
const hasOwnName = ({ file, argv }: ExecRequest): boolean => argv[0] === file || argv[0] === posix.basename(file);

/** The reason why a program is not trusted by its name alone; undefined when it is. */
function doubtAbout(path: string, workdir: string, writable: WritablePaths): string | undefined {
  let program: string | undefined = path;
  for (let depth = 0; program !== undefined; depth++) {
    if (depth === DEEPEST_SCRIPT) return `${program} is one of too many interpreters`;
    const trace = tracePath(program.startsWith('/') ? program : posix.join(workdir, program));
    if (trace === undefined) return `${program} is not there`;
    const changeable = trace.visited.find((path) => writable.has(path));
    if (changeable !== undefined) return `${changeable} could have been changed by a command`;
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
