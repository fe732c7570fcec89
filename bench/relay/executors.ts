import { mkdirSync } from 'node:fs';
import type { Scope } from '../../src/base/index.ts';
import { ExecServerClient } from '../../src/client/index.ts';
import { webSocket } from '../../src/link/index.ts';
import { bearerToken, viaRegistry } from '../../src/relay/remote/index.ts';
import { referenceBinary } from '../../test/support/reference.ts';
import { BackgroundProgram } from '../../test/support/remote-programs.ts';

/** An exec-server under measurement, and how our harness talks to it. */
export interface Executor {
  readonly name: string;
  /** The program up to its options; our own unless given. */
  readonly command?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether acknowledged delivery is offered. */
  readonly reliable: boolean;
}

/** The real one, ours with acknowledged delivery, and ours without, which is what the real one can do. */
export async function executors(codexHome: string): Promise<Executor[]> {
  mkdirSync(codexHome, { recursive: true });
  return [
    {
      name: 'codex',
      command: [await referenceBinary(), 'exec-server'],
      env: { CODEX_HOME: codexHome },
      reliable: false,
    },
    { name: 'ours', env: {}, reliable: true },
    { name: 'ours, plain', env: {}, reliable: false },
  ];
}

/** Where executor and harness find a rendezvous; they may know it by different addresses. */
export interface Meeting {
  readonly executorUrl: string;
  readonly harnessUrl: string;
  readonly tokens: Readonly<Record<'executor' | 'harness', string>>;
}

const program = (
  { command, env }: Executor,
  args: readonly string[],
  more: Record<string, string> = {},
): BackgroundProgram =>
  new BackgroundProgram({ args, env: { ...env, EXEC_SERVER_LOG: 'error', ...more }, ...(command && { command }) });

export async function connectDirectly(scope: Scope, executor: Executor): Promise<ExecServerClient> {
  const server = scope.own(program(executor, ['--listen', 'ws://127.0.0.1:0']));
  return scope.own(await ExecServerClient.connect(webSocket(await server.line())));
}

let connections = 0;

/** Starts the executor and connects to it as soon as it is there. */
export async function connectThrough(scope: Scope, meeting: Meeting, executor: Executor): Promise<ExecServerClient> {
  const environmentId = `bench-${process.pid}-${connections++}`;
  const { executorUrl, harnessUrl, tokens } = meeting;
  const args = ['--remote', executorUrl, '--environment-id', environmentId];
  scope.own(program(executor, args, { CODEX_API_KEY: tokens.executor }));
  const credentials = bearerToken(tokens.harness);
  const route = viaRegistry({ registryUrl: harnessUrl, environmentId, credentials, reliable: executor.reliable });
  return scope.own(await ExecServerClient.connect(route));
}
