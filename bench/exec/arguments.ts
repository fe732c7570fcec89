import { parseArgs } from 'node:util';
import { UsageError } from '../arguments.ts';

export const help = `Measures what it costs to have every program a shell starts judged first.

Usage: npm run bench:exec -- [options]

  --execs N     programs started per sample (default: 1000; at most 100000)
  --rounds N    samples per variant, the variants taking turns (default: 3; at most 100)
  --json        print everything measured as JSON instead of a table
  --help        show this text

The same loop around /bin/true runs in the same patched Bash: plainly, with the wrapper of this package, with the wrapper
of Codex's shell tool (fetched once) under our broker, and with interception by the kernel. CPU is that of all processes
together: shell, programs, wrappers, broker and Node. From each sample that of an empty loop is subtracted. Every sample
is compared with one of plain Bash right before it, because machines have good minutes and bad ones; the median of the
rounds counts. Every answer is counted and checked.

Exit status: 0 measured; 1 a sample failed or took too long; 2 wrong usage.
`;

export interface Arguments {
  readonly help: boolean;
  readonly execs: number;
  readonly rounds: number;
  readonly json: boolean;
}

export function parseArguments(argv: string[]): Arguments {
  const { help = false, execs, rounds, json = false } = readOptions(argv);
  return { help, json, execs: count('--execs', execs, 100_000), rounds: count('--rounds', rounds, 100) };
}

function readOptions(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        execs: { type: 'string', default: '1000' },
        rounds: { type: 'string', default: '3' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function count(option: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new UsageError(`${option} wants a number from 1 to ${most}, not ${text}`);
}
