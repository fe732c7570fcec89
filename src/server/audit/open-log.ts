import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Opens a file that only its owner can have written, to append to it; creates it if it is missing. Gives the descriptor. */
export function openLog(path: string): number {
  requireSafeFolder(path);
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const descriptor = opened(path, () =>
    // Not to wait, should it be a FIFO; a regular file knows no waiting.
    openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600),
  );
  try {
    const { size } = requireOwnFile(path, descriptor);
    if (size > 0 && lastByte(descriptor, size) !== NEWLINE) writeSync(descriptor, '\n'); // a line that a dead server began
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The log, and older ones beside it under the names that `logrotate` gives. */
export function logsAt(path: string): readonly string[] {
  const [folder, name] = [dirname(path), basename(path)];
  const isOlder = (other: string): boolean => other.startsWith(`${name}.`) || other.startsWith(`${name}-`);
  return [
    path,
    ...readdirSync(folder)
      .filter(isOlder)
      .map((other) => join(folder, other)),
  ];
}

function opened(path: string, open: () => number): number {
  try {
    return open();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP') throw cannot(path, 'it is a symbolic link; name the file itself');
    if (code === 'EISDIR') throw cannot(path, 'it is a directory; name a file');
    throw cannot(path, `${code ?? error}`);
  }
}

/** Another user who can write the folder could put a file of his own in the place of this one. */
function requireSafeFolder(path: string): void {
  const folder = dirname(path);
  const facts = statSync(folder, { throwIfNoEntry: false });
  if (!facts?.isDirectory()) throw cannot(path, `there is no directory ${folder}; create it, mode 0700`);
  if (facts.uid !== process.geteuid!() && facts.uid !== ROOT) {
    throw cannot(
      path,
      `${folder} belongs to user ${facts.uid}, who can replace the log; choose a directory of its own, mode 0700`,
    );
  }
  const isOpen = (facts.mode & 0o002) !== 0 && (facts.mode & 0o1000) === 0;
  if (isOpen) throw cannot(path, `every user can write to ${folder}; choose a directory of its own, mode 0700`);
}

function requireOwnFile(path: string, descriptor: number): { readonly size: number } {
  const facts = fstatSync(descriptor);
  if (!facts.isFile()) throw cannot(path, 'it is not a regular file');
  if (facts.uid !== process.geteuid!() && facts.uid !== ROOT) {
    throw cannot(path, `it belongs to user ${facts.uid}, who can change it; remove it, or choose another file`);
  }
  if ((facts.mode & 0o022) !== 0) throw cannot(path, 'others than its owner can write to it; chmod 600 it');
  if ((facts.mode & 0o004) !== 0) throw cannot(path, 'every user can read it; chmod 600 it');
  if (facts.nlink !== 1) throw cannot(path, 'it has another name (a hard link); remove one of them');
  return facts;
}

function lastByte(descriptor: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  readSync(descriptor, byte, 0, 1, size - 1);
  return byte[0];
}

const ROOT = 0;
const NEWLINE = 0x0a;

const cannot = (path: string, reason: string): Error => new Error(`cannot use the audit log ${path}: ${reason}`);
