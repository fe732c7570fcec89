/**
 * `fs/search` beside grep: both search the same tree in turns, with a warm cache, and must find the same number of lines.
 *
 *   npm run bench:search -- [--megabytes N] [--rounds N]
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { ExecServerClient, RemoteFileSystem } from '../../src/client/index.ts';
import { webSocket } from '../../src/link/index.ts';
import { PathUri, type Sandbox, type SearchOptions } from '../../src/protocol/index.ts';
import { useOwnHome } from '../../test/support/own-home.ts';
import { median } from '../stats.ts';
import { plantTree, RARE } from './tree.ts';

interface Workload {
  readonly content: NonNullable<SearchOptions['content']>;
  /** The same question for grep. */
  readonly grep: readonly string[];
}

const WORKLOADS: Readonly<Record<string, Workload>> = {
  'text that is nowhere': { content: { literal: 'nowhereToBeFound' }, grep: ['-F', 'nowhereToBeFound'] },
  'text in one line of 20,000': { content: { literal: RARE }, grep: ['-F', RARE] },
  'the same in any case': {
    content: { literal: RARE.toUpperCase(), caseInsensitive: true },
    grep: ['-F', '-i', RARE.toUpperCase()],
  },
  'expression with a text in it': {
    content: { regex: 'rare[A-Z][a-z]+_[0-9]+;' },
    grep: ['-E', 'rare[A-Z][a-z]+_[0-9]+;'],
  },
  'expression without a text': {
    content: { regex: '[0-9]{3}[A-Z][a-z]+[0-9]$' },
    grep: ['-E', '[0-9]{3}[A-Z][a-z]+[0-9]$'],
  },
  'expression that blows up a backtracking matcher': {
    content: { regex: '(([a-z])+)+[0-9]!' },
    grep: ['-E', '(([a-z])+)+[0-9]!'],
  },
};

async function main(argv: string[]): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: { megabytes: { type: 'string', default: '256' }, rounds: { type: 'string', default: '7' } },
  });
  const rounds = Number(values.rounds);
  const removeHome = useOwnHome();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-bench-search-')));
  const server = spawn(process.execPath, ['dist/bin/exec-server.cjs', '--listen', 'ws://127.0.0.1:0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const planted = plantTree(folder, Number(values.megabytes) * 1024 * 1024);
    console.log(
      `${planted.files} files, ${(planted.bytes / 1024 / 1024).toFixed(0)} MiB, ${planted.lines} lines; ${rounds} rounds`,
    );
    const [line] = (await once(createInterface({ input: server.stdout! }), 'line')) as [string];
    await using client = await ExecServerClient.connect(webSocket(/ws:\/\/\S+/.exec(line)![0]));
    const files = new RemoteFileSystem(client);
    for (const [name, workload] of Object.entries(WORKLOADS)) await compare(name, workload, { files, folder, rounds });
    await reactions(client, folder, rounds);
  } finally {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
    removeHome();
  }
}

interface Place {
  readonly files: RemoteFileSystem;
  readonly folder: string;
  readonly rounds: number;
}

async function compare(name: string, { content, grep }: Workload, { files, folder, rounds }: Place): Promise<void> {
  const contenders = {
    grep: () => grepLines(grep, folder),
    search: () => searchLines(files, folder, content),
    sandboxed: () => searchLines(files, folder, content, readOnly(folder)),
  };
  const times: Record<keyof typeof contenders, number[]> = { grep: [], search: [], sandboxed: [] };
  const names = Object.keys(contenders) as (keyof typeof contenders)[];
  for (let round = 0; round <= rounds; round++) {
    const found = new Set<number>();
    for (const one of round % 2 === 0 ? names : names.toReversed()) {
      const started = performance.now();
      found.add(await contenders[one]());
      if (round > 0) times[one].push(performance.now() - started); // the first round fills the caches
    }
    if (found.size !== 1) throw new Error(`${name}: found ${[...found].join(' and ')} lines`);
  }
  const [ofGrep, ofSearch, ofSandboxed] = names.map((one) => median(times[one])) as [number, number, number];
  console.log(
    `${name}: grep ${ofGrep.toFixed(0)} ms, fs/search ${ofSearch.toFixed(0)} ms (${(ofGrep / ofSearch).toFixed(2)} x), ` +
      `sandboxed ${ofSandboxed.toFixed(0)} ms (${(ofGrep / ofSandboxed).toFixed(2)} x)`,
  );
}

/** How soon a search gives its first match, and how soon it ends when it is cancelled. */
async function reactions(client: ExecServerClient, folder: string, rounds: number): Promise<void> {
  const path = PathUri.fromNative(folder);
  const first: number[] = [];
  const cancelled: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    await client.request('fs/search', { path, content: { literal: 'e' }, maxMatches: 1 });
    first.push(performance.now() - started);
    const searchId = `s${round}`;
    const search = client.request('fs/search', { searchId, path, content: { regex: '(([a-z])+)+[0-9]!' } });
    await client.request('fs/searchCancel', { searchId: 'another' }); // its answer comes after the search has begun
    const asked = performance.now();
    await client.request('fs/searchCancel', { searchId });
    await search;
    cancelled.push(performance.now() - asked);
  }
  console.log(`first match: ${median(first).toFixed(1)} ms; cancelled: ${median(cancelled).toFixed(1)} ms`);
}

function grepLines(args: readonly string[], folder: string): number {
  const { stdout } = spawnSync('grep', ['-r', ...args, folder], {
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  return stdout.split('\n').length - 1;
}

async function searchLines(
  files: RemoteFileSystem,
  folder: string,
  content: Workload['content'],
  sandbox?: Sandbox,
): Promise<number> {
  const path = PathUri.fromNative(folder);
  const { matches, truncated } = await files.search(path, { content, maxMatches: 10_000, hidden: true, sandbox });
  if (truncated) throw new Error('more matches than a search gives');
  return matches.length;
}

/** A policy under which a helper has to do the search. */
function readOnly(folder: string): Sandbox {
  return {
    permissions: {
      type: 'managed',
      network: 'restricted',
      file_system: {
        type: 'restricted',
        entries: [
          { path: { type: 'special', value: { kind: 'minimal' } }, access: 'read' },
          { path: { type: 'path', path: PathUri.fromNative(folder) }, access: 'read' },
        ],
      },
    },
    cwd: PathUri.fromNative(folder),
    workspaceRoots: [PathUri.fromNative(folder)],
    windowsSandboxLevel: 'disabled',
  } as Sandbox;
}

void main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`bench:search: ${error.message}`);
  process.exitCode = 1;
});
