/**
 * What it costs a sandboxed command that its refusals are watched: every workload runs with and without, in turns, on one server.
 *
 *   npm run bench:denials -- [--rounds N] [--only PART-OF-A-NAME]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ExecServerClient } from '../../src/client/index.ts';
import { webSocket } from '../../src/link/index.ts';
import { PathUri } from '../../src/protocol/index.ts';
import { useOwnHome } from '../../test/support/own-home.ts';
import { median } from '../stats.ts';

const WORKLOADS = {
  'compile of a C project (native/fs and native/broker)':
    'cd native; for file in fs/*.c broker/*.c; do gcc -std=gnu17 -O1 -I ../headers -c $file -o $file.o || exit 1; done',
  'test run of 600 small processes (write, read, remove)':
    'i=0; while [ $i -lt 200 ]; do sh -c "echo $i > t$i; grep -q $i t$i" >/dev/null && rm t$i; i=$((i+1)); done',
  'the worst case: 20,000 files opened for writing, and nothing else': `perl -e 'for (1 .. 20000) { open(F, ">", "t") or exit 1; close(F) }'`,
} as const;

/** One run: how long it took, and the processor time of the command and everything that watched it. */
interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

interface Costs {
  readonly without: Cost[];
  readonly with: Cost[];
}

async function main(argv: string[]): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: { rounds: { type: 'string', default: '10' }, only: { type: 'string', default: '' } },
  });
  const rounds = Number(values.rounds);
  const chosen = Object.entries(WORKLOADS).filter(([name]) => name.includes(values.only));
  const removeHome = useOwnHome();
  const folder = project();
  const server = spawn(process.execPath, ['dist/bin/exec-server.cjs', '--listen', 'ws://127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [line] = (await once(createInterface({ input: server.stdout! }), 'line')) as [string];
    const url = /ws:\/\/\S+/.exec(line)![0];
    await using plain = await ExecServerClient.connect(webSocket(url));
    await using watching = await ExecServerClient.connect(webSocket(url), { sandboxDenials: true });
    for (const [name, script] of chosen) {
      const costs: Costs = { without: [], with: [] };
      for (let round = 0; round <= rounds; round++) {
        for (const kind of round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
          const cpuBefore = childrenCpuMs(server.pid!);
          const wallMs = await run(kind === 'with' ? watching : plain, folder, script);
          const cpuMs = childrenCpuMs(server.pid!) - cpuBefore;
          if (round > 0) costs[kind].push({ wallMs, cpuMs }); // the first round fills the caches
        }
      }
      console.log(`${name}, ${rounds} rounds`);
      for (const measure of ['cpuMs', 'wallMs'] as const) report(measure, costs);
    }
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
    removeHome();
  }
}

/** The sources of our native parts, and the headers they need. */
function project(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-bench-denials-')));
  cpSync('native', join(folder, 'native'), { recursive: true });
  cpSync('node_modules/node-api-headers/include', join(folder, 'headers'), { recursive: true });
  return folder;
}

function report(measure: keyof Cost, costs: Costs): void {
  const without = costs.without.map((cost) => cost[measure]);
  const watched = costs.with.map((cost) => cost[measure]);
  const byPairs = median(watched.map((ms, index) => ms / without[index]!));
  console.log(
    `  ${measure}: ${median(without).toFixed(0)} without, ${median(watched).toFixed(0)} with: ` +
      `${percent(median(watched) / median(without))} by medians, ${percent(byPairs)} by pairs, ` +
      `${percent(Math.min(...watched) / Math.min(...without))} by the fastest`,
  );
}

/** User and system time of all ended descendants of the server. */
function childrenCpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10; // cutime and cstime, in ticks of 10 ms
}

async function run(client: ExecServerClient, folder: string, script: string): Promise<number> {
  const started = performance.now();
  const uri = PathUri.parse(pathToFileURL(folder).href);
  const process = await client.start({
    argv: ['/bin/sh', '-c', script],
    cwd: folder,
    env: { PATH: '/usr/bin:/bin' },
    sandbox: {
      permissions: {
        type: 'managed',
        network: 'restricted',
        file_system: {
          type: 'restricted',
          entries: [
            { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
            { path: { type: 'path', path: uri }, access: 'write' },
            { path: { type: 'special', value: { kind: 'slash_tmp' } }, access: 'write' },
          ],
        },
      },
      cwd: uri,
      workspaceRoots: [uri],
      windowsSandboxLevel: 'disabled',
    },
  });
  const { exitCode, stderr } = await process.communicate();
  if (exitCode !== 0) throw new Error(`the workload failed: ${Buffer.from(stderr).toString()}`);
  return performance.now() - started;
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`;
}

void main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`bench:denials: ${error.message}`);
  process.exitCode = 1;
});
