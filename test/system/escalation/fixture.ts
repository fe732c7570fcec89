import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ExecShell, type ExecShellOptions, type Interception } from '../../../src/agent/escalation/index.ts';
import { serveShellTool } from '../../../src/agent/mcp/index.ts';
import { RulesStore } from '../../../src/agent/rules/index.ts';
import { type Logger, silentLogger } from '../../../src/base/index.ts';
import { testSandboxes } from '../../support/host.ts';
import { makeOutOfBounds } from '../../support/out-of-bounds.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
export const wrapper = join(root, 'build/native/execve-wrapper');
export const patchedBash = join(root, 'build/bash/bash');

export const interceptions: readonly Interception[] = ['bash', 'all'];

export interface Elicitation {
  readonly message: string;
  readonly requestedSchema: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export type Answer = { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: Record<string, unknown> };

export interface PeerOptions {
  /** Whether the client asks for the refusals of sandboxes. */
  readonly denials?: boolean;
  /** What the user answers; without it the client says that it cannot ask. */
  readonly answer?: (question: Elicitation) => Answer | Promise<Answer>;
}

export interface Result {
  readonly exit_code: number;
  readonly output: string;
  readonly duration: { readonly secs: number; readonly nanos: number };
  readonly timed_out: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly sandbox_denied: boolean;
  readonly denials?: readonly unknown[];
}

interface Message {
  readonly id?: number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: NonNullable<Message['error']>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** A client that shows every message; the SDK's client handles some by itself. */
export class McpPeer {
  readonly questions: Elicitation[] = [];
  readonly notifications: Message[] = [];
  /** Errors without the id of a request. */
  readonly complaints: Message[] = [];
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #input: Writable;
  readonly #options: PeerOptions;
  readonly #arrivals = new Set<() => void>();
  #nextId = 1;
  #isListening = true;

  constructor(input: Writable, output: Readable, options: PeerOptions = {}) {
    this.#input = input;
    this.#options = options;
    createInterface({ input: output }).on('line', (line) => this.#take(line));
  }

  /** Stops reading messages from the output, for a server that prints other text. */
  ignoreOutput(): void {
    this.#isListening = false;
  }

  async initialize(protocolVersion = '2025-06-18'): Promise<Record<string, unknown>> {
    const { answer, denials } = this.#options;
    const capabilities = {
      ...(answer && { elicitation: {} }),
      ...(denials && { experimental: { sandboxDenials: {} } }),
    };
    const clientInfo = { name: 'test', version: '1' };
    const result = await this.request('initialize', { protocolVersion, capabilities, clientInfo });
    this.send({ method: 'notifications/initialized' });
    return result;
  }

  async request(method: string, params?: Record<string, unknown>): Promise<Record<string, unknown>> {
    return this.begin(method, params).answer;
  }

  /** A request whose id is known before its answer. */
  begin(method: string, params?: Record<string, unknown>): { id: number; answer: Promise<Record<string, unknown>> } {
    const id = this.#nextId++;
    const answer = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => (error ? reject(new RpcError(error)) : resolve(result!)));
    });
    answer.catch(() => undefined); // it is also thrown where it is awaited
    this.send({ id, method, ...(params && { params }) });
    return { id, answer };
  }

  send(message: Message): void {
    this.line(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  line(text: string): void {
    this.#input.write(`${text}\n`);
  }

  /** Runs a command without start-up files, unless told otherwise. */
  async shell(command: string, workdir: string, more: Record<string, unknown> = {}): Promise<Result> {
    const args = { command, workdir, login: false, ...more };
    const { structuredContent } = await this.request('tools/call', { name: 'shell', arguments: args });
    return structuredContent as unknown as Result;
  }

  async until<T>(condition: () => T | undefined | false): Promise<T> {
    for (;;) {
      const value = condition();
      if (value !== undefined && value !== false) return value;
      await new Promise<void>((resolve) => this.#arrivals.add(resolve));
    }
  }

  #take(line: string): void {
    if (!this.#isListening) return;
    const message = JSON.parse(line) as Message;
    if (message.method === 'elicitation/create') {
      const question = message.params as unknown as Elicitation;
      this.questions.push(question);
      void this.#answer(message.id!, question);
    } else if (message.method !== undefined) {
      this.notifications.push(message);
    } else if (message.id == null) {
      this.complaints.push(message);
    } else {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    }
    for (const resolve of this.#arrivals) resolve();
    this.#arrivals.clear();
  }

  async #answer(id: number, question: Elicitation): Promise<void> {
    try {
      this.send({ id, result: { ...(await this.#options.answer!(question)) } });
    } catch (error) {
      this.send({ id, error: { code: -32_603, message: (error as Error).message } });
    }
  }
}

export interface EscalationFixtureOptions extends PeerOptions {
  readonly intercept: Interception;
  readonly rules?: string;
  readonly shell?: Partial<ExecShellOptions>;
  readonly log?: Logger;
}

export type LogLine = readonly [event: string, fields: Readonly<Record<string, unknown>> | undefined];

/** The server in this process, a client of it, and the directories they work in. */
export class EscalationFixture implements AsyncDisposable {
  readonly #root = makeOutOfBounds('escalation');
  readonly work = this.#folder('work');
  readonly outside = this.#folder('outside');
  readonly rulesFile = join(this.#root, 'test.rules');
  readonly warnings: LogLine[] = [];
  readonly #stop = new AbortController();
  peer!: McpPeer;
  #shell!: ExecShell;
  #served!: Promise<void>;

  static async open(options: EscalationFixtureOptions): Promise<EscalationFixture> {
    const fixture = new EscalationFixture();
    await fixture.#open(options);
    return fixture;
  }

  async #open({ intercept, rules = '', shell = {}, ...peer }: EscalationFixtureOptions): Promise<void> {
    writeFileSync(this.rulesFile, rules);
    const warn = (event: string, fields?: Readonly<Record<string, unknown>>) =>
      void this.warnings.push([event, fields]);
    const log: Logger = { ...silentLogger, warn, error: warn };
    const { PATH = '', HOME = '/' } = process.env;
    this.#shell = await ExecShell.open({
      sandboxes: testSandboxes(),
      programs: { intercept, bash: intercept === 'bash' ? patchedBash : '/bin/bash', wrapper },
      rules: await RulesStore.open({
        files: [this.rulesFile],
        onProblem: ({ message }) => warn('rules.not_read', { message }),
      }),
      rulesFrom: [this.rulesFile],
      environment: { PATH, HOME, LANG: 'C.UTF-8' },
      log,
      ...shell,
    });
    const input = new PassThrough();
    const output = new PassThrough();
    this.#served = serveShellTool({ shell: this.#shell, sandbox: 'read-only', log, input, output }, this.#stop.signal);
    this.peer = new McpPeer(input, output, peer);
    await this.peer.initialize();
  }

  /** Lets commands write to the working directory, as clients do. */
  async allowWork(
    policy: Record<string, unknown> = { type: 'workspace-write', exclude_slash_tmp: true },
  ): Promise<void> {
    await this.peer.request('codex/sandbox-state/update', { sandboxPolicy: policy, sandboxCwd: this.work });
  }

  run(command: string, more: Record<string, unknown> = {}): Promise<Result> {
    return this.peer.shell(command, this.work, more);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#served;
    await this.#shell[Symbol.asyncDispose]();
    rmSync(this.#root, { recursive: true, force: true });
  }

  #folder(name: string): string {
    const path = join(this.#root, name);
    mkdirSync(path);
    return path;
  }
}

/** What can become of an exec of `true`, and the rules that make it so. */
export const outcomesOfTrue = [
  ['run', ''],
  ['escalate', 'prefix_rule(pattern = ["true"])'],
  ['deny', 'prefix_rule(pattern = ["true"], decision = "forbidden")'],
] as const;

/** How many execs of `true` have the outcome, of `sequential` ones and of `parallel` ones. */
export async function countExecs(
  fixture: EscalationFixture,
  outcome: (typeof outcomesOfTrue)[number][0],
  times: { readonly sequential: number; readonly parallel: number },
): Promise<{ sequential: number; parallel: number }> {
  const ok = outcome === 'deny' ? '!' : '';
  const count = async (script: string) => Number((await fixture.run(script, { timeout_ms: 50_000 })).stdout);
  return {
    sequential: await count(
      `n=0; for ((i = 0; i < ${times.sequential}; i++)); do if ${ok} /bin/true a$i 2>/dev/null; then ((n++)); fi; done; echo $n`,
    ),
    parallel: await count(
      `for ((i = 0; i < ${times.parallel}; i++)); do /bin/true a$i 2>/dev/null & pids[i]=$!; done; n=0; for p in "\${pids[@]}"; do if ${ok} wait $p; then ((n++)); fi; done; echo $n`,
    ),
  };
}
