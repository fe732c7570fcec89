import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Scope } from '../../src/base/index.ts';
import { useOwnHome } from '../../test/support/own-home.ts';
import { describeMachine } from '../machine.ts';
import { progressOn } from '../progress.ts';
import { shellQuote } from '../shell-quote.ts';
import { measureCrowd } from './crowd.ts';
import { executors } from './executors.ts';
import { openPaths } from './paths.ts';
import { measureRecovery } from './recovery.ts';
import { type RelayReport, renderRelayReport } from './report.ts';
import { measureTransfers } from './transfer.ts';

const help = `Measures the relay: output and round trips over a direct websocket, one node, and two nodes and NATS;
how long output stays away when a node is killed; memory and CPU of a node with many environments.

Usage: npm run bench:relay -- [options]

  --quick          less of everything
  --only A,B       transfer, recovery, crowd
  --markdown FILE  write the tables
  --json FILE      write everything measured

The real executor is CODEX_BIN, or fetched once. It needs nats-server.
`;

const parts = ['transfer', 'recovery', 'crowd'] as const;
/** Of an executor that cannot be slowed down a rendezvous keeps 96 MiB for a slower harness: the output must fit in. */
const full = { bytes: 64e6, requests: 1000, rounds: 3, kills: 3, seconds: 35 };
const quick = { bytes: 32e6, requests: 200, rounds: 1, kills: 1, seconds: 5 };

async function main(argv: string[]): Promise<number> {
  const options = { quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  const texts = { only: { type: 'string' }, markdown: { type: 'string' }, json: { type: 'string' } } as const;
  const { values } = parseArgs({ args: argv, options: { ...options, ...texts } });
  const only = values.only?.split(',') ?? parts;
  if (values.help || only.some((part) => !parts.includes(part as (typeof parts)[number]))) {
    process.stdout.write(help);
    return values.help ? 0 : 2;
  }
  const report = await measure(values.quick ? quick : full, new Set(only), argv);
  process.stdout.write(renderRelayReport(report));
  if (values.markdown) writeFileSync(values.markdown, renderRelayReport(report));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  return 0;
}

async function measure(scale: typeof full, only: ReadonlySet<string>, argv: string[]): Promise<RelayReport> {
  await using scope = new Scope();
  scope.defer(useOwnHome());
  const progress = progressOn(process.stderr);
  const [date, before] = [new Date().toISOString(), loadavg()[0]!];
  const compared = await executors(join(homedir(), '.codex'));
  const file = randomFile(scope, scale.bytes);
  const transfers =
    only.has('transfer') && (await measureTransfers(await openPaths(scope), compared, { ...scale, file }, progress));
  const recoveries = only.has('recovery') && (await measureRecovery(compared, scale.kills, progress));
  const crowdSize = { environments: 1000, streams: 200, seconds: scale.seconds };
  const crowd = only.has('crowd') && (await measureCrowd(crowdSize, progress));
  progress.clear();
  return {
    date,
    command: ['npm run bench:relay --', ...argv.map(shellQuote)].join(' '),
    machine: describeMachine(),
    load: [before, loadavg()[0]!],
    notes: [
      `${scale.bytes / 1e6} MB of output, verified; ${scale.requests} requests; rounds: ${scale.rounds}, the executors taking turns`,
    ],
    ...(transfers && { transfers }),
    ...(recoveries && { recoveries }),
    ...(crowd && { crowd }),
  };
}

function randomFile(scope: Scope, bytes: number): { path: string; bytes: number; digest: string } {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'exec-server-bench-'));
  scope.defer(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'content');
  const content = randomBytes(bytes);
  writeFileSync(path, content);
  return { path, bytes, digest: createHash('sha256').update(content).digest('hex') };
}

void main(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
