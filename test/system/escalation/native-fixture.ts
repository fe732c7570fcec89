import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Broker,
  type BrokerEvent,
  type BrokerOptions,
  type Ending,
  type ExactCommand,
  type ExecRequest,
  type ShellStart,
} from '../../../src/agent/escalation/index.ts';
import { type AccessPolicy, type Confined, confine } from '../../../src/host/sandbox/index.ts';
import { testSandboxes } from '../../support/host.ts';
import { policyOf } from '../../support/policy.ts';
import { freshMark } from '../native/fixture.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export const wrapper = join(root, 'build', 'native', 'execve-wrapper');
export const bash = join(root, 'build', 'bash', 'bash');

/** The number of the wrappers' socket in shells under test. */
export const SOCKET = 200;

export type Answer = 'run' | 'escalate' | 'ignore' | { readonly deny: string } | { readonly start: ExactCommand };

export interface CallOptions extends Partial<ShellStart> {
  /** What to answer; everything runs unless said otherwise. */
  readonly decide?: (request: ExecRequest) => Answer | Promise<Answer>;
  /** What is not even asked about. */
  readonly answerSeen?: BrokerOptions['answerSeen'];
  readonly env?: Readonly<Record<string, string>>;
  readonly wrapper?: string;
  /** The sandbox to be in. */
  readonly policy?: AccessPolicy;
}

/** The environment of a shell whose execs are asked about. */
export function shellEnvironment(options: CallOptions = {}): Record<string, string> {
  const own = options.wrapper ?? wrapper;
  const interception =
    options.intercept === 'all'
      ? {}
      : {
          CODEX_ESCALATE_SOCKET: String(SOCKET),
          BASH_EXEC_WRAPPER: own,
          EXEC_WRAPPER: own,
          CODEX_ESCALATE_SHELL: options.shell ?? bash,
        };
  return { PATH: '/usr/local/bin:/usr/bin:/bin', ...options.env, ...interception };
}

/** A script in a shell of its own, with whatever it asks answered. */
export class Call implements AsyncDisposable {
  readonly broker: Broker;
  readonly requests: ExecRequest[] = [];
  readonly events: BrokerEvent[] = [];
  /** Pieces of output in order of arrival. */
  readonly output: string[] = [];
  readonly text = { stdout: '', stderr: '' };
  readonly done: Promise<void>;
  readonly #waiting = new Set<() => void>();
  readonly #options: CallOptions;
  readonly #confined: Confined | undefined;
  #over = false;

  constructor(script: string, options: CallOptions = {}) {
    this.#options = options;
    const { shell = bash, intercept = 'bash', argv = ['bash', '-c', script], cwd = '/' } = options;
    const env = shellEnvironment(options);
    const plain = {
      argv: [shell, ...argv.slice(1)],
      arg0: argv[0]!,
      cwd,
      env,
      io: { type: 'pipe', stdin: 'closed' },
    } as const;
    this.#confined = options.policy && confine(testSandboxes(), plain, options.policy, { extraDescriptor: SOCKET });
    const command = this.#confined?.command ?? plain;
    const { inherit = [] } = this.#confined?.command ?? {};
    this.broker = Broker.start({
      mark: freshMark(),
      inherit,
      ...(options.answerSeen && { answerSeen: options.answerSeen }),
    });
    void this.broker.shell({
      intercept,
      ...(intercept === 'all' ? {} : { socket: SOCKET }),
      shell,
      file: command.argv[0]!,
      argv: [command.arg0!, ...command.argv.slice(1)],
      cwd,
      inherited: inherit.length,
      env: command.env,
    });
    this.done = this.#take();
  }

  /** Resolves once the condition holds; throws when the call is over without it. */
  async until<T>(condition: () => T | undefined | false): Promise<T> {
    for (;;) {
      const value = condition();
      if (value !== undefined && value !== false) return value;
      if (this.#over) throw new Error(`it never happened: ${JSON.stringify(this.events.slice(-5))}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** The shell has ended and no process holds its output any more. */
  async finished(): Promise<Ending> {
    const { status } = await this.until(() => {
      const failed = this.events.find(({ type }) => type === 'failed');
      if (failed !== undefined) throw new Error(`the shell was not started: ${JSON.stringify(failed)}`);
      return this.events.find((event) => event.type === 'exited');
    });
    await this.until(() => this.events.filter(({ type }) => type === 'ended').length === 2);
    return status;
  }

  event<T extends BrokerEvent['type']>(type: T): Promise<Extract<BrokerEvent, { type: T }>> {
    return this.until(() => this.events.find((event) => event.type === type) as Extract<BrokerEvent, { type: T }>);
  }

  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return this.until(() => pattern.exec(this.text.stdout) ?? undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.broker[Symbol.asyncDispose]();
    await this.done;
    this.#confined?.claim[Symbol.dispose]();
  }

  async #take(): Promise<void> {
    for await (const event of this.broker.events()) {
      if (event.type === 'output') {
        const piece = event.bytes.toString();
        this.output.push(piece);
        this.text[event.stream] += piece;
      } else {
        this.events.push(event);
      }
      if (event.type === 'asked') void this.#answer(event.request);
      this.#wake();
    }
    this.#over = true;
    this.#wake();
  }

  async #answer(request: ExecRequest): Promise<void> {
    this.requests.push(request);
    const answer = (await this.#options.decide?.(request)) ?? 'run';
    if (answer === 'run') await this.broker.run(request.id);
    else if (answer === 'escalate') await this.broker.escalate(request.id, request.exact);
    else if (answer !== 'ignore' && 'deny' in answer) await this.broker.deny(request.id, answer.deny);
    else if (answer !== 'ignore') await this.broker.escalate(request.id, answer.start);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: Ending;
  readonly requests: readonly ExecRequest[];
  readonly events: readonly BrokerEvent[];
  readonly output: readonly string[];
}

/** Runs a script to its end. */
export async function call(script: string, options: CallOptions = {}): Promise<Finished> {
  await using running = new Call(script, options);
  const status = await running.finished();
  const { requests, events, output, text } = running;
  return { ...text, status, requests, events, output };
}

/** An answer by the base name of the program. */
export const byName =
  (answers: Readonly<Record<string, Answer>>) =>
  ({ file }: ExecRequest): Answer =>
    answers[file.split('/').at(-1)!] ?? 'run';

/** A directory that is removed in the end. */
export async function directory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'escalation-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Everything may be read, one directory written to, and there is no network. */
export const workspace = (path: string): AccessPolicy =>
  policyOf([
    ['/', 'read'],
    [path, 'write'],
  ]);
