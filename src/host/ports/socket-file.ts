import { type FileHandle, open, readlink } from 'node:fs/promises';
import { ExecError } from '../../protocol/index.ts';
import { isOwnSocketFile } from '../peers/index.ts';
import type { ForwardRules } from './forward-rules.ts';

/** Opens a path without what it leads to; Node has no name for it. */
const O_PATH = 0o10000000;

/** A Unix socket that may be connected to. It is held by a descriptor, so that no other file can take its place. */
export interface SocketFile extends AsyncDisposable {
  /** Leads to the very file that was checked. */
  readonly path: string;
}

/** Opens the socket at a path; throws if it may not be connected to. */
export async function openSocketFile(path: string, rules: ForwardRules): Promise<SocketFile> {
  if (!path.startsWith('/') || path.includes('\0')) {
    throw new ExecError('invalidParams', `path is not an absolute path: ${JSON.stringify(path.slice(0, 253))}`);
  }
  if (!rules.listsPath(path)) throw refused(path, unlisted(path)); // before anything is opened: a path tells what exists
  const file = await openPath(path);
  try {
    const held = `/proc/self/fd/${file.fd}`;
    const real = await readlink(held);
    if (real !== path && !rules.listsPath(real)) throw refused(path, `it is a link to ${real}; ${unlisted(real)}`);
    const facts = await file.stat({ bigint: true });
    if (!facts.isSocket()) throw refused(path, 'it is not a socket');
    if (await isOwnSocketFile(facts)) throw refused(path, 'exec-server listens there');
    return { path: held, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openPath(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_PATH);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be opened (${code})`;
    throw new ExecError('invalidRequest', `cannot connect to ${path}: ${why}`, { cause });
  }
}

const unlisted = (path: string): string => `to allow it, add 'unix:${path}' to the setting allow_forward of the server`;

function refused(path: string, why: string): ExecError {
  return new ExecError('invalidRequest', `socket ${path} may not be reached: ${why}`);
}
