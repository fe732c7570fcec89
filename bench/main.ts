import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { useOwnHome } from '../test/support/own-home.ts';
import { packageRoot } from '../test/support/package-root.ts';
import { type Arguments, help, parseArguments, UsageError } from './arguments.ts';
import { runBenchmark } from './benchmark.ts';
import { defaultServers } from './default-servers.ts';
import { serveEchoPeer } from './echo-peer.ts';
import { describeMachine } from './machine.ts';
import { progressOn } from './progress.ts';
import { type Report, renderMarkdown, renderText } from './report.ts';
import type { ServerCommand } from './server-under-test.ts';
import { shellQuote } from './shell-quote.ts';
import { workloads } from './workloads/index.ts';

const echoPeerArgument = '--echo-peer';

/** Answers the exit status. */
async function main(argv: string[]): Promise<number> {
  const args = parseArguments(argv);
  if (args.action === 'help') {
    process.stdout.write(help);
    return 0;
  }
  if (args.action === 'list') {
    for (const [name, { about }] of Object.entries(workloads)) console.log(`${name.padEnd(12)} ${about}`);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort());
  const removeHome = useOwnHome();
  const report = await measure(args, argv, interrupted.signal).finally(removeHome);
  process.stdout.write(renderText(report));
  if (args.json) writeFileSync(args.json, `${JSON.stringify(report, null, 2)}\n`);
  if (args.markdown) writeFileSync(args.markdown, renderMarkdown(report));
  if (interrupted.signal.aborted) return 130;
  return report.failures.length > 0 ? 1 : 0;
}

async function measure(args: Arguments, argv: string[], signal: AbortSignal): Promise<Report> {
  const root = packageRoot();
  const date = new Date().toISOString();
  const env = { ...process.env, CODEX_HOME: join(homedir(), '.codex') };
  mkdirSync(env.CODEX_HOME, { recursive: true });
  const portable = (command: string) => command.replaceAll(`${root}/`, '');
  const given = args.servers.map(({ name, command }) => ({ name, command, shown: portable(command) }));
  const servers: ServerCommand[] = given.length > 0 ? given : await defaultServers(root, env);
  const progress = progressOn(process.stderr);
  const peerCommand = [process.execPath, process.argv[1]!, echoPeerArgument].map(shellQuote).join(' ');
  const measured = await runBenchmark({ ...args, servers, env, peerCommand }, progress, signal);
  progress.clear();
  return {
    date,
    command: portable(['npm run bench --', ...argv.map(shellQuote)].join(' ')),
    machine: describeMachine(),
    scale: args.scale,
    rounds: args.rounds,
    servers: servers.map(({ name, shown, version }) => ({ name, command: shown, ...(version && { version }) })),
    ...measured,
  };
}

async function run(): Promise<void> {
  if (process.argv[2] === echoPeerArgument) return await serveEchoPeer();
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}`);
    process.exitCode = 2;
  }
}

void run();
