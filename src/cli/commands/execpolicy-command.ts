import { readFileSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { loadPolicy, RulesError, type RulesFile } from '../../agent/rules/index.ts';
import { describeOptions, parseOptions } from '../arguments.ts';
import { print } from '../print.ts';
import { UsageError } from '../usage-error.ts';

const options = {
  rules: {
    type: 'string',
    short: 'r',
    value: 'PATH',
    multiple: true,
    help: 'a rules file; give it again for more files',
  },
  pretty: { type: 'boolean', help: 'print the JSON over several lines' },
  'resolve-host-executables': {
    type: 'boolean',
    help:
      'let rules for a bare name such as `git` match a path such as /usr/bin/git too, ' +
      'as far as the `host_executable()` entries of the rules allow it',
  },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Shows which rules match a command, and what they decide.

Usage: exec-server execpolicy check [OPTIONS] --rules <PATH> [--] COMMAND...

Options come first; from the first word of the command on, everything belongs to the command.

Options:
${describeOptions(options)}

Prints one JSON object: {"matchedRules": [...], "decision": "allow" | "prompt" | "forbidden"}. The strictest rule
decides; without a match there is no decision. The command is matched as it is: shell scripts are not split up.

Exit codes: 0 judged (whatever the decision), 1 rules that cannot be read or are wrong, 2 wrong usage.
`;

/** Runs `exec-server execpolicy …`. */
export function execpolicyCommand(argv: readonly string[]): number {
  const [command, ...rest] = argv;
  if (command === '--help' || command === '-h' || command === 'help') return print(help());
  if (command === undefined) throw new UsageError('a command is required; the only one is check');
  if (command !== 'check') throw new UsageError(`unrecognized subcommand '${command}'; the only one is check`);
  return check(rest);
}

function check(argv: readonly string[]): number {
  const { flags, words } = splitCommand(argv);
  const { values } = parseOptions(flags, options);
  if (values.help) return print(help());
  const { rules = [], pretty } = values;
  const missing = [...(rules.length === 0 ? ['--rules <PATH>'] : []), ...(words.length === 0 ? ['<COMMAND>...'] : [])];
  if (missing.length > 0) {
    throw new UsageError(
      `the following required arguments were not provided:\n${missing.map((one) => `  ${one}`).join('\n')}`,
    );
  }
  try {
    const policy = loadPolicy(rules.map(readRules));
    const resolveHostExecutables = values['resolve-host-executables'] === true;
    const evaluation = policy.check(words, { resolveHostExecutables });
    return print(`${JSON.stringify(evaluation, null, pretty ? 2 : undefined)}\n`);
  } catch (error) {
    if (error instanceof RulesError) return fail(`failed to parse policy at ${error.source}`, error.message);
    if (error instanceof UnreadableRules) return fail(`failed to read policy at ${error.path}`, error.message);
    throw error;
  }
}

/** Options end at `--` or at the first word that is neither an option nor the value of one. */
function splitCommand(argv: readonly string[]): { flags: readonly string[]; words: readonly string[] } {
  let at = 0;
  while (at < argv.length) {
    const argument = argv[at]!;
    if (argument === '--') return { flags: argv.slice(0, at), words: argv.slice(at + 1) };
    if (!argument.startsWith('-') || argument === '-') break;
    at += argument === '-r' || argument === '--rules' ? 2 : 1;
  }
  return { flags: argv.slice(0, at), words: argv.slice(at) };
}

class UnreadableRules extends Error {
  readonly path: string;

  constructor(path: string, reason: string) {
    super(reason);
    this.path = path;
  }
}

function readRules(path: string): RulesFile {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UnreadableRules(path, systemReason(error as NodeJS.ErrnoException));
  }
  try {
    // A byte order mark stays: the rules language refuses it, and says so.
    return { name: path, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    throw new UnreadableRules(path, 'stream did not contain valid UTF-8'); // the decoder's error has no details
  }
}

/** The C library's words for the common errors; Node's own are in another style. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EISDIR: 'Is a directory',
  EACCES: 'Permission denied',
  ENOTDIR: 'Not a directory',
};

function systemReason({ code = '', errno = 0, message }: NodeJS.ErrnoException): string {
  const reason = reasons[code] ?? getSystemErrorMap().get(errno)?.[1] ?? message;
  return `${reason} (os error ${Math.abs(errno)})`;
}

function fail(problem: string, cause: string): number {
  const indented = cause.split('\n').map((line) => `    ${line}`);
  process.stderr.write(`Error: ${problem}\n\nCaused by:\n${indented.join('\n')}\n`);
  return 1;
}
