import { type ErrorDetails, ExecError, PathUri } from '../protocol/index.ts';

/** Describes a failure for a person: names the program, directory or file, if the server has told it. */
export function failureReason(error: unknown): string {
  if (!(error instanceof ExecError) || !error.details) return error instanceof Error ? error.message : String(error);
  const { subject, path, errno } = error.details;
  if (subject === 'program') return programReason(error.details, error.message);
  if (subject === 'cwd' && errno !== undefined) return directoryReason(nameOf(path), errno, error.message);
  if (path === undefined || subject !== undefined) return error.message;
  const name = nameOf(path);
  return error.message.includes(`\`${name}\``) ? error.message : `${name}: ${withoutNumber(error.message)}`;
}

function programReason({ errno, path, searched }: ErrorDetails, message: string): string {
  if (searched === '')
    return 'its environment has no PATH to look in: set one, or give the absolute path of the program';
  if (errno === 'ENOENT' && searched !== undefined) return `command not found on PATH (${searched})`;
  if (errno === 'EACCES' && searched !== undefined)
    return `permission denied: the file found on PATH (${searched}) may not be executed`;
  if (errno === 'ENOENT')
    return path === undefined
      ? 'there is no such file'
      : `there is no file ${nameOf(path)}, or its interpreter is missing`;
  if (errno === 'EACCES') return 'permission denied: the file may not be executed';
  if (errno === 'ENOEXEC') return 'the file is not a program for this machine';
  return withoutNumber(message);
}

function directoryReason(name: string, errno: string, message: string): string {
  if (errno === 'ENOENT') return `its directory ${name} does not exist`;
  if (errno === 'ENOTDIR') return `its directory ${name} is not a directory`;
  if (errno === 'EACCES') return `permission denied: its directory ${name} may not be entered`;
  return `its directory ${name}: ${withoutNumber(message)}`;
}

/** The native path on the machine of the server. */
function nameOf(href: string | undefined): string {
  try {
    return String(PathUri.parse(href ?? '').toNative());
  } catch {
    return href ?? ''; // a path of another platform
  }
}

/** `No space left on device (os error 28)` as `no space left on device`. */
const withoutNumber = (message: string): string =>
  message.replace(/ \(os error \d+\)$/, '').replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
