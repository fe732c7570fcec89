import { posix } from 'node:path';
import type { ExecutorFileSystem } from '../../protocol/index.ts';
import { applyPatch, type PatchOutcome } from './apply-patch.ts';
import type { ChangeOptions } from './change-files.ts';

/** A command that calls the patch tool. */
export interface PatchCommand {
  readonly text: string;
  /** The directory that the script changes to first. */
  readonly directory: string | undefined;
  /** False when the command is a bare patch, which a shell would not understand. */
  readonly isExplicit: boolean;
}

const NAMES = ['apply_patch', 'applypatch'];
const SHELL = /(?:^|\/)(?:ba|z|da|k)?sh$/;
const WORD = String.raw`[^\s'"\`$\\;&|<>()*?[\]{}~#!]+|'[^']*'|"[^"\`$\\]*"`;
const CALL = String.raw`^\s*(?:cd[ \t]+(${WORD})[ \t]*&&\s*)?(?:${NAMES.join('|')})[ \t]*`;
const HEREDOC = new RegExp(`${CALL}<<-?[ \\t]*(['"]?)([\\w.-]+)\\2[ \\t]*\\r?\\n([\\s\\S]*)$`);
// The lookbehind keeps two runs of blanks apart: the time for a long run would be quadratic otherwise.
const ARGUMENT = new RegExp(`${CALL}(?<=[ \\t])('[^']*'|"[^"\`$\\\\]*")\\s*$`);

/**
 * Finds the patch in a command that only applies one: `apply_patch PATCH` as arguments, or as a shell's script with the patch
 * quoted or in a here-document, optionally after one `cd`. A shell would expand variables in an unquoted here-document, which
 * the author of a patch does not intend.
 */
export function parsePatchCommand(argv: readonly string[]): PatchCommand | undefined {
  const [program, flag, script] = argv;
  if (argv.length === 2 && NAMES.includes(program!)) return { text: flag!, directory: undefined, isExplicit: true };
  if (argv.length !== 3 || !SHELL.test(program!) || !/^-l?c$/.test(flag!)) return undefined;
  if (/^\s*\*\*\* Begin Patch\s*\n/.test(script!)) return { text: script!, directory: undefined, isExplicit: false };
  const [, directory, , delimiter, rest] = HEREDOC.exec(script!) ?? [];
  if (delimiter !== undefined) {
    const text = untilDelimiter(rest!, delimiter);
    return text === undefined ? undefined : { text, directory: unquoted(directory), isExplicit: true };
  }
  const [, from, argument] = ARGUMENT.exec(script!) ?? [];
  return (argument && { text: unquoted(argument)!, directory: unquoted(from), isExplicit: true }) || undefined;
}

/** The text of the here-document; undefined when something follows it. */
function untilDelimiter(rest: string, delimiter: string): string | undefined {
  const lines = rest.split('\n');
  const end = lines.findIndex((line) => line.replace(/\r$/, '').replace(/^\t+/, '') === delimiter);
  const hasMore = lines.slice(end + 1).some((line) => line.trim() !== '');
  return end < 0 || hasMore ? undefined : lines.slice(0, end).join('\n');
}

const unquoted = (word: string | undefined): string | undefined => word?.replace(/^(['"])([\s\S]*)\1$/, '$2');

/** Carries out such a command in the directory `cwd`. */
export async function applyPatchCommand(
  command: PatchCommand,
  files: ExecutorFileSystem,
  cwd: string,
  options: ChangeOptions = {},
): Promise<PatchOutcome> {
  if (!command.isExplicit) return { text: IMPLICIT, success: false, files: [] };
  return applyPatch(command.text, files, posix.resolve(cwd, command.directory ?? '.'), options);
}

const IMPLICIT =
  'apply_patch verification failed: patch detected without explicit call to apply_patch. ' +
  'Rerun as ["apply_patch", "<patch>"]';
