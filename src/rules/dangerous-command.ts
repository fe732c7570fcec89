import { basename } from 'node:path';
import { commandsIn } from './script-commands.ts';

/** Commands nested deeper than this count as dangerous: nobody hides a harmless one so well. */
const DEEPEST = 8;

const SHELLS = ['bash', 'zsh', 'sh'];

/** Whether a command that no rule knows should be asked about: forced removal, also behind `sudo`, `env` or a shell. */
export function isDangerous(command: readonly string[], depth = 0): boolean {
  if (depth > DEEPEST) return true;
  const [program, ...rest] = command;
  if (program === undefined) return false;
  const inScript = (script: string): boolean => commandsIn(script).some((inner) => isDangerous(inner, depth + 1));
  const name = basename(program);
  if (name === 'rm') return isForced(rest);
  if (name === 'sudo') return isDangerous(rest, depth + 1);
  if (name === 'env') return isDangerous(withoutEnvironment(rest), depth + 1);
  if (name === 'trap') return rest[0] !== undefined && inScript(rest[0]);
  if (SHELLS.includes(name))
    return (rest[0] === '-c' || rest[0] === '-lc') && rest[1] !== undefined && inScript(rest[1]);
  return false;
}

function isForced(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return flags.some((flag) => flag === '--force' || /^-[^-]*f/.test(flag));
}

/** What `env` runs: everything after its own flag, assignments and `--`. */
function withoutEnvironment(args: readonly string[]): readonly string[] {
  const start = args.findIndex((word) => word !== '-i' && !/^[A-Za-z_]\w*=/.test(word));
  if (start < 0) return [];
  return args.slice(args[start] === '--' ? start + 1 : start);
}
