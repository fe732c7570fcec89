import { basename } from 'node:path';
import { commandsIn } from '../shell/script-commands.ts';

/** Commands nested deeper than this count as dangerous: no harmless command needs it. */
const DEEPEST = 8;

type Judge = (args: readonly string[], depth: number) => boolean;

const inScript = (script: string | undefined, depth: number): boolean =>
  script !== undefined && commandsIn(script).some((inner) => isDangerous(inner, depth + 1));
const shell: Judge = ([flag, script], depth) => (flag === '-c' || flag === '-lc') && inScript(script, depth);

/** The programs that can be dangerous: `rm`, and programs that run other commands. */
const judges: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ['rm', isForced],
  ['sudo', (args, depth) => isDangerous(args, depth + 1)],
  ['env', (args, depth) => isDangerous(withoutEnvironment(args), depth + 1)],
  ['trap', ([script], depth) => inScript(script, depth)],
  ['bash', shell],
  ['zsh', shell],
  ['sh', shell],
]);

/** Whether a command that no rule knows should be asked about: forced removal, also behind `sudo`, `env` or a shell. */
export function isDangerous(command: readonly string[], depth = 0): boolean {
  if (depth > DEEPEST) return true;
  const [program, ...args] = command;
  if (program === undefined) return false;
  return judges.get(basename(program))?.(args, depth) ?? false;
}

/** Whether no arguments make a program dangerous. */
export function isHarmless(program: string): boolean {
  return !judges.has(basename(program));
}

function isForced(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return flags.some((flag) => flag === '--force' || /^-[^-]*f/.test(flag));
}

/** The command that `env` runs: everything after its flag, assignments and `--`. */
function withoutEnvironment(args: readonly string[]): readonly string[] {
  const start = args.findIndex((word) => word !== '-i' && !/^[A-Za-z_]\w*=/.test(word));
  if (start < 0) return [];
  return args.slice(args[start] === '--' ? start + 1 : start);
}
