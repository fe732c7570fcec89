import { readFile } from 'node:fs/promises';
import { ExecError } from '../../protocol/index.ts';
import { osErrorOf } from './os-error.ts';
import { parseToml, type TomlTable } from './toml.ts';

/** A table of settings with its source. */
export interface ConfigLayer {
  readonly source: string;
  readonly baseDir: string;
  readonly toml: TomlTable;
}

export function configError(message: string): ExecError {
  return new ExecError('internal', `failed to load executor-local config: ${message}`);
}

/** The table in a file; undefined if the file is missing. */
export async function loadToml(
  path: string,
  describe: (position: string, reason: string) => string = (position, reason) => `${path}:${position}: ${reason}`,
): Promise<TomlTable | undefined> {
  const text = await loadText(path);
  if (text === undefined) return undefined;
  try {
    return parseToml(text);
  } catch (error) {
    const { line = 1, column = 1, message } = error as { line?: number; column?: number; message: string };
    const reason = message.split('\n', 1)[0]!.replace(/^Invalid TOML document: /, '');
    throw configError(describe(`${line}:${column}`, reason));
  }
}

async function loadText(path: string): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw configError(
      `Failed to read config file ${path}: ${code === 'EISDIR' ? `path \`${path}\` is not a file` : osErrorOf(error)}`,
    );
  }
}
