import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFailed } from 'vitest';
import { Scope } from '../../src/base/index.ts';
import { referenceBinary } from '../support/reference.ts';
import type { Approval, Codex, CodexOptions, SandboxMode } from './codex.ts';
import { type Environment, writeCodexHome } from './codex-home.ts';
import { ScriptedModel } from './scripted-model.ts';
import { ServerUnderTest, serverCommand } from './server-under-test.ts';
import { type Side, WireLog } from './wire-log.ts';
import { type Disguise, WireTap } from './wire-tap.ts';
import { Workspace } from './workspace.ts';

export interface RigOptions {
  /** How the client learns of the server: by its configuration, by a variable, or by starting it itself. */
  readonly reach?: 'configuration' | 'variable' | 'stdio';
  readonly sandbox?: SandboxMode;
  readonly approval?: Approval;
  readonly accepts?: (command: string) => boolean;
  /** The capability token the server demands and the client presents. */
  readonly token?: string;
  readonly disguise?: Disguise;
  readonly config?: object;
  readonly prepare?: (workspace: Workspace) => Promise<void>;
}

// Well below the runner's own limit, which would abandon the scenario without releasing what it started.
const limitMs = 60_000;

/** The real client between a scripted model and the server under test, with a tap on the wire. */
export class Rig<Client extends Codex> implements AsyncDisposable {
  readonly wire = new WireLog();
  readonly #scope = new Scope();
  readonly #over = new AbortController();
  #workspace!: Workspace;
  #model!: ScriptedModel;
  #client!: Client;
  #server?: ServerUnderTest;
  #serverUrl?: string;
  #tap?: WireTap;
  #unreadLogs: { from: Side; file: string }[] = [];

  static async start<C extends Codex>(
    Client: new (options: CodexOptions) => C,
    options: RigOptions = {},
  ): Promise<Rig<C>> {
    const rig = new Rig<C>();
    onTestFailed(() => console.error(rig.report()));
    try {
      await rig.#build(Client, options);
      return rig;
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
  }

  get workspace(): Workspace {
    return this.#workspace;
  }

  get model(): ScriptedModel {
    return this.#model;
  }

  get client(): Client {
    return this.#client;
  }

  get tap(): WireTap {
    if (!this.#tap) throw new Error('there is no tap on stdio');
    return this.#tap;
  }

  get serverUrl(): string {
    if (!this.#serverUrl) throw new Error('a server on stdio has no address');
    return this.#serverUrl;
  }

  /** Aborts when the client has ended or the scenario takes too long. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends the turn and waits until the client has dealt with it. */
  async finish(): Promise<void> {
    await this.#model.say('done');
    await this.#client.turnCompleted();
    this.#readLogs();
  }

  /** What happened, for finding out why a scenario failed. */
  report(): string {
    return [
      ['what the model saw', this.#model?.seen.map(({ text }) => text.slice(0, 2_000)).join('\n---\n')],
      ['the end of the wire log', this.wire.tail(40)],
      ['stderr of the client', this.#client?.stderr.slice(-4_000)],
      ['stderr of the server', this.#server?.stderr.slice(-4_000)],
    ]
      .map(([title, text]) => `== ${title} ==\n${text ?? ''}`)
      .join('\n');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#scope[Symbol.asyncDispose]();
  }

  async #build(Client: new (options: CodexOptions) => Client, options: RigOptions): Promise<void> {
    const { reach = 'configuration', sandbox = 'danger-full-access', approval = 'never' } = options;
    const { accepts = () => false, config = {} } = options;
    const binary = await referenceBinary();
    this.#workspace = this.#scope.own(await Workspace.make());
    this.#limit();
    this.#model = this.#scope.own(new ScriptedModel(this.signal));
    const modelUrl = await this.#model.listen();
    const environment = reach === 'stdio' ? this.#stdio() : await this.#webSocket(options);
    await options.prepare?.(this.#workspace);
    const { clientHome: directory, cwd } = this.#workspace;
    const byVariable = reach === 'variable' && 'url' in environment;
    await writeCodexHome({ directory, modelUrl, config, environment: byVariable ? undefined : environment });
    const variable = byVariable ? { CODEX_EXEC_SERVER_URL: environment.url } : {};
    const env = this.#workspace.env({ CODEX_HOME: directory, ...variable });
    this.#client = this.#scope.own(new Client({ binary, cwd, env, sandbox, approval, accepts }));
    void this.#client.ended.then(({ code, signal }) =>
      this.#over.abort(new Error(`the client ended with ${signal ?? `code ${code}`}`)),
    );
    await this.#client.start();
  }

  /** A scenario that hangs is ended by ending its programs, so that it fails and cleans up like any other. */
  #limit(): void {
    const timer = setTimeout(() => {
      this.#over.abort(new Error(`the scenario took longer than ${limitMs} ms`));
      this.#client?.kill();
      this.#server?.kill();
    }, limitMs);
    this.#scope.defer(() => clearTimeout(timer));
  }

  async #webSocket({ token, disguise }: RigOptions): Promise<Environment> {
    const flags: string[] = [];
    if (token) {
      const file = join(this.#workspace.root, 'token');
      await writeFile(file, `${token}\n`, { mode: 0o600 });
      flags.push('--ws-auth', 'capability-token', '--ws-token-file', file);
    }
    this.#server = this.#scope.own(new ServerUnderTest(this.#workspace, flags));
    this.#serverUrl = await this.#server.url();
    this.#tap = this.#scope.own(new WireTap(this.#serverUrl, this.wire, disguise));
    return { url: await this.#tap.listen(), ...(token ? { auth_bearer_token: token } : {}) };
  }

  /** The client starts the server, so the tap is a pair of `tee`s; the log is read back at the end. */
  #stdio(): Environment {
    const { root, serverHome } = this.#workspace;
    const [requests, replies] = [join(root, 'requests.jsonl'), join(root, 'replies.jsonl')];
    this.#unreadLogs = [
      { from: 'client', file: requests },
      { from: 'server', file: replies },
    ];
    this.#scope.defer(() => this.#readLogs());
    return {
      program: '/bin/sh',
      args: ['-c', `tee "$1" | ${serverCommand} --listen stdio | tee "$2"`, 'tap', requests, replies],
      env: { CODEX_HOME: serverHome },
    };
  }

  #readLogs(): void {
    for (const { from, file } of this.#unreadLogs.splice(0)) {
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
      for (const line of lines) this.wire.record(1, from, line);
    }
  }
}
