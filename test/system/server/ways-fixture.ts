import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { CoveredProgram } from '../../support/covered-program.ts';
import { BackgroundProgram } from '../../support/remote-programs.ts';
import { announced, prepared } from '../../support/server.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';
import { McpFixture, McpUser } from '../mcp/fixture.ts';

const COMMAND_LINE = 'dist/cli/main.js';

/** The files of `src/` in which code ran because of the action; base/ and protocol/ are left out, as they always run. */
async function atWork(programs: readonly CoveredProgram[], action: () => Promise<unknown>): Promise<string[]> {
  const drained = () => Promise.all(programs.map((program) => program.filesAtWork()));
  await drained();
  await action();
  const files = new Set((await drained()).flatMap((ran) => [...ran]));
  return [...files].filter((file) => !/^(base|protocol)\//.test(file)).sort();
}

type Action = (client: WebSocketClient, folder: string) => Promise<unknown>;

/** The files at work in a server that a client has used before, and that has been through the preparation. */
export async function inServer(action: Action, preparation: Action = async () => {}): Promise<string[]> {
  using program = new CoveredProgram(COMMAND_LINE, ['--listen', 'ws://127.0.0.1:0']);
  const env = { ...process.env, ...program.env, EXEC_SERVER_LOG: 'debug' };
  await using server = await announced(spawn(process.execPath, program.args, { stdio: 'pipe', env }));
  await prepared(server);
  await using client = await connect(server.url);
  using first = new Folder();
  using second = new Folder();
  await preparation(client, first.path);
  return await atWork([program], () => action(client, second.path));
}

/** The files at work when a program that serves tools is asked for a command in a directory that has just changed. */
export async function inToolServer(cmd: string): Promise<string[]> {
  await using fixture = new McpFixture();
  using program = new CoveredProgram(COMMAND_LINE, ['mcp', '--cwd', fixture.work]);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...program.args],
    env: { ...fixture.env, ...program.env, EXEC_SERVER_LOG: 'debug' },
    stderr: 'ignore',
  });
  await using user = await new McpUser({}).connect(transport);
  await user.exec(cmd); // from now on a launcher waits, with a plan of the directory
  mkdirSync(join(fixture.work, '.git'));
  return await atWork([program], () => user.exec(cmd));
}

/** The files at work in a harness, a rendezvous and an environment while one request goes there and its answer back. */
export async function inRelay(): Promise<string[]> {
  using switchboard = new CoveredProgram(COMMAND_LINE, ['rendezvous', '--listen', 'http://127.0.0.1:0']);
  await using rendezvous = background(switchboard, {});
  const url = await rendezvous.line();
  await rendezvous.logs('harness token');
  const token = (scope: string): string => new RegExp(`^${scope} token: (\\S+)$`, 'm').exec(rendezvous.stderr)![1]!;

  using executor = new CoveredProgram(COMMAND_LINE, ['--remote', url, '--environment-id', 'env']);
  await using environment = background(executor, { CODEX_API_KEY: token('executor') });
  await environment.logs('rendezvous.connected');

  using caller = new CoveredProgram('test/support/relayed-caller.mjs');
  await using harness = background(caller, { REGISTRY: url, TOKEN: token('harness') });
  await harness.line(); // connected
  const call = (): Promise<unknown> => {
    const answered = harness.line();
    harness.stdin.write('\n');
    return answered;
  };
  const round = () => atWork([caller, switchboard, executor], call);
  await call();
  const [first, second] = [await round(), await round()];
  return first.filter((file) => second.includes(file)); // a timer of the switch may fire during one of the two
}

function background(program: CoveredProgram, env: NodeJS.ProcessEnv): BackgroundProgram {
  return new BackgroundProgram({ command: [process.execPath], args: program.args, env: { ...program.env, ...env } });
}

class Folder implements Disposable {
  readonly path = mkdtempSync('/var/tmp/exec-server-ways-');

  constructor() {
    writeFileSync(join(this.path, 'file'), 'content');
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}
