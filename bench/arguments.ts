import { parseArgs } from 'node:util';
import { workloads } from './workloads/index.ts';

export const help = `Compares exec-servers on this machine, in one run, with identical and verified work.

Usage: npm run bench -- [options]

  --server NAME='COMMAND'  a server to measure; repeat for more. COMMAND is run by sh and must print a
                           ws:// URL on stdout. The first server is the base of all ratios.
                           Default: codex (the reference, from CODEX_BIN or fetched once) and ours.
  --quick                  less work and 3 rounds instead of 5
  --rounds N               rounds per workload, the servers taking turns
  --only A,B               run these workloads
  --skip A,B               leave these out
  --dir DIR                where the fixtures are made (default: /dev/shm and /var/tmp; never below /dev
                           when the sandbox workload runs)
  --json FILE              write everything measured
  --markdown FILE          write the table with date, machine, versions and command
  --no-quiet               do not wait for a quiet machine before each sample
  --list                   list the workloads
  --help                   show this text

A ratio above 1 is better than the first server, whatever the direction of the metric. A workload that needs
a method a server does not have is shown as "not served". CPU and memory include a server's helper processes
and leave out the commands it runs. On a machine shared with other work, run it at a better priority
(nice -n -10, as root).

Exit status: 0 measured; 1 a workload failed, did not end in time or gave a wrong result; 2 wrong usage or no
server to measure; 130 interrupted, after showing what was measured.
`;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Arguments {
  action: 'run' | 'list' | 'help';
  servers: { name: string; command: string }[];
  scale: 'quick' | 'full';
  rounds: number;
  workloads: string[];
  waitForQuiet: boolean;
  directory: string | undefined;
  json: string | undefined;
  markdown: string | undefined;
}

export function parseArguments(argv: string[]): Arguments {
  const values = readOptions(argv);
  const servers = (values.server ?? []).map(parseServer);
  const names = servers.map((server) => server.name);
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated) throw new UsageError(`two servers are named ${repeated}`);
  const only = parseWorkloads(values.only);
  const skip = parseWorkloads(values.skip);
  return {
    action: values.help ? 'help' : values.list ? 'list' : 'run',
    servers,
    scale: values.quick ? 'quick' : 'full',
    rounds: parseRounds(values.rounds ?? (values.quick ? '3' : '5')),
    workloads: Object.keys(workloads).filter((name) => (only?.includes(name) ?? true) && !skip?.includes(name)),
    waitForQuiet: !values['no-quiet'],
    directory: values.dir,
    json: values.json,
    markdown: values.markdown,
  };
}

function readOptions(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        server: { type: 'string', multiple: true },
        quick: { type: 'boolean' },
        rounds: { type: 'string' },
        only: { type: 'string' },
        skip: { type: 'string' },
        dir: { type: 'string' },
        json: { type: 'string' },
        markdown: { type: 'string' },
        'no-quiet': { type: 'boolean' },
        list: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function parseServer(text: string): { name: string; command: string } {
  const [, name, command] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  if (!name || !command) throw new UsageError(`--server wants NAME='COMMAND', not ${text}`);
  return { name, command };
}

function parseRounds(text: string): number {
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) throw new UsageError(`--rounds wants a positive number, not ${text}`);
  return rounds;
}

function parseWorkloads(text: string | undefined): string[] | undefined {
  const names = text?.split(',');
  const unknown = names?.find((name) => !(name in workloads));
  if (unknown !== undefined) throw new UsageError(`no workload is named ${unknown}; see --list`);
  return names;
}
