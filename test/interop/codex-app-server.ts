import { type Deferred, deferred } from '../../src/base/index.ts';
import { type Codex, type CodexOptions, prompt } from './codex.ts';
import { type Ending, Program } from './program.ts';

interface Incoming {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { command?: string; reason?: string; turn?: { status: string } };
  readonly result?: { thread?: { id: string }; data?: unknown[] };
  readonly error?: { code: number; message: string };
}

/** A question the client put to its user. */
interface Question {
  readonly command: string;
  readonly reason: string | undefined;
}

/** `codex app-server`: the front end that asks its user and can be given requests while it runs. */
export class CodexAppServer implements Codex {
  readonly questions: Question[] = [];
  readonly #program: Program;
  readonly #options: CodexOptions;
  readonly #calls = new Map<number, Deferred<NonNullable<Incoming['result']>>>();
  readonly #turn = deferred<string | undefined>();
  #threadId = '';
  #nextId = 1;

  constructor(options: CodexOptions) {
    const { binary, cwd, env } = options;
    this.#options = options;
    this.#program = new Program({ argv: [binary, 'app-server'], cwd, env }, 'pipe');
    this.#program.onLine((line) => this.#receive(JSON.parse(line) as Incoming));
    void this.#program.ended.then(() => this.#abandon());
  }

  async start(): Promise<void> {
    const { cwd, sandbox, approval } = this.#options;
    const clientInfo = { name: 'interop', title: 'interop', version: '1' };
    await this.#request('initialize', { clientInfo, capabilities: { experimentalApi: true } });
    this.#send({ method: 'initialized' });
    const { thread } = await this.#request('thread/start', { cwd, sandbox, approvalPolicy: approval, ephemeral: true });
    this.#threadId = thread?.id ?? '';
    await this.threadRequest('turn/start', { input: [{ type: 'text', text: prompt, text_elements: [] }] });
  }

  /** A request about the one thread this client has. */
  threadRequest(method: string, params: object = {}): Promise<NonNullable<Incoming['result']>> {
    return this.#request(method, { threadId: this.#threadId, ...params });
  }

  get ended(): Promise<Ending> {
    return this.#program.ended;
  }

  get stderr(): string {
    return this.#program.stderr;
  }

  async turnCompleted(): Promise<void> {
    const status = await this.#turn.promise;
    if (status !== 'completed') throw new Error(`the turn ended as ${status}`);
  }

  kill(): void {
    this.#program.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }

  #request(method: string, params: object): Promise<NonNullable<Incoming['result']>> {
    const id = this.#nextId++;
    const call = deferred<NonNullable<Incoming['result']>>();
    this.#calls.set(id, call);
    this.#send({ id, method, params });
    return call.promise;
  }

  #receive({ id, method, params, result, error }: Incoming): void {
    if (method !== undefined && id !== undefined) this.#send({ id, ...this.#answer(method, params) });
    else if (method === 'turn/completed') this.#turn.resolve(params?.turn?.status);
    else if (id !== undefined) {
      if (error) this.#calls.get(id)?.reject(new Error(`${error.code}: ${error.message}`));
      else this.#calls.get(id)?.resolve(result ?? {});
      this.#calls.delete(id);
    }
  }

  #answer(method: string, { command = '', reason }: NonNullable<Incoming['params']> = {}): object {
    if (!method.endsWith('/requestApproval')) return { error: { code: -32601, message: `no ${method} here` } };
    this.questions.push({ command, reason });
    return { result: { decision: this.#options.accepts(command) ? 'accept' : 'decline' } };
  }

  #abandon(): void {
    this.#turn.resolve('abandoned');
    for (const call of this.#calls.values()) call.reject(new Error('codex app-server ended'));
  }

  #send(message: object): void {
    this.#program.writeLine(JSON.stringify(message));
  }
}
