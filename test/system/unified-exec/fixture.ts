import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EnvironmentSettings,
  Environments,
  type ExecBackend,
  type ExecEvent,
  localBackend,
  remoteBackend,
  type StructuredResult,
  type ToolResult,
  UnifiedExec,
  type UnifiedExecOptions,
} from '../../../src/agent/unified-exec/index.ts';
import { Changes, Scope, silentLogger } from '../../../src/base/index.ts';
import { memoryLinkPair } from '../../../src/link/index.ts';
import { openConnectionPoint } from '../../../src/server/index.ts';
import { testHost } from '../../support/host.ts';

export type Place = 'here' | 'server';

/** A server that is reached over a link, as if it were on another machine. */
function memoryServer(scope: Scope): ExecBackend {
  const server = openConnectionPoint({ host: testHost(), config: {}, log: silentLogger });
  scope.defer(async () => (await server)[Symbol.asyncDispose]());
  return remoteBackend(async () => {
    const [ours, theirs] = memoryLinkPair();
    (await server).connect(theirs, { resumable: true });
    return ours;
  });
}

export interface FixtureOptions extends Omit<UnifiedExecOptions, 'environments' | 'settings'> {
  readonly settings?: EnvironmentSettings;
  /** The environments to choose from, instead of one at `place`. */
  readonly backends?: Readonly<Record<string, ExecBackend>>;
  /** Remember no output events, which can be many. */
  readonly forgetsOutput?: boolean;
}

/** The two tools, a directory to run in, and everything that was told about the commands. */
export class ExecFixture implements AsyncDisposable {
  readonly #scope = new Scope();
  readonly events: ExecEvent[] = [];
  readonly exec: UnifiedExec;
  readonly cwd: string;
  readonly #told = new Changes();
  #listening: Promise<void> = Promise.resolve();
  #calls = 0;

  static async open(place: Place, options: FixtureOptions = {}): Promise<ExecFixture> {
    return new ExecFixture(await realpath(await mkdtemp(join(tmpdir(), 'unified-exec-'))), place, options);
  }

  private constructor(cwd: string, place: Place, options: FixtureOptions) {
    this.cwd = cwd;
    this.#scope.defer(() => rm(cwd, { recursive: true, force: true }));
    const { settings, backends, forgetsOutput = false, ...rest } = options;
    const backend = (): ExecBackend =>
      place === 'here' ? localBackend({ host: testHost() }) : memoryServer(this.#scope);
    const environments = this.#scope.own(new Environments(backends ?? { box: backend() }));
    this.exec = this.#scope.own(
      new UnifiedExec({ environments, settings: { box: { cwd, ...settings } }, allowLoginShell: false, ...rest }),
    );
    const events = this.exec.events();
    this.#listening = this.#listen(events, forgetsOutput);
  }

  /** Runs a command by the text a model would send. */
  run(cmd: string, args: object = {}, signal?: AbortSignal): Promise<Outcome> {
    return this.call('exec_command', { cmd, ...args }, signal);
  }

  type(sessionId: number, chars: string, args: object = {}): Promise<Outcome> {
    return this.call('write_stdin', { session_id: sessionId, chars, ...args });
  }

  poll(sessionId: number, args: object = {}): Promise<Outcome> {
    return this.call('write_stdin', { session_id: sessionId, ...args });
  }

  /** The output from a first answer on, until it matches: one window may be too short on a busy machine. */
  async shows(first: Outcome, pattern: RegExp): Promise<string> {
    let output = first.output;
    while (!pattern.test(output)) output += (await this.poll(first.facts!.session_id!)).output;
    return output;
  }

  async call(name: string, args: object, signal?: AbortSignal): Promise<Outcome> {
    const callId = `call_${++this.#calls}`;
    return outcome(
      await this.exec.call(name, JSON.stringify(args), { callId, turnId: 'turn', ...(signal && { signal }) }),
    );
  }

  /** Ends the tools and gives everything that was told, up to the last word. */
  async allEvents(): Promise<ExecEvent[]> {
    await this.exec[Symbol.asyncDispose]();
    await this.#listening;
    return this.events;
  }

  /** Resolves with the first event that matches, already told or not. */
  async event<T extends ExecEvent['type']>(type: T, callId?: string): Promise<Extract<ExecEvent, { type: T }>> {
    const wanted = (event: ExecEvent): event is Extract<ExecEvent, { type: T }> =>
      event.type === type && (callId === undefined || ('call_id' in event && event.call_id === callId));
    for (;;) {
      const told = this.events.find(wanted);
      if (told) return told;
      await this.#told.next();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
    await this.#listening;
  }

  async #listen(events: AsyncIterable<ExecEvent>, forgetsOutput: boolean): Promise<void> {
    for await (const event of events) {
      if (forgetsOutput && event.type === 'ExecCommandOutputDelta') continue;
      this.events.push(event);
      this.#told.notify();
    }
  }
}

export interface Outcome extends ToolResult {
  /** The text with what differs from run to run replaced. */
  readonly shown: string;
  readonly output: string;
  readonly facts: StructuredResult | undefined;
}

function outcome(result: ToolResult): Outcome {
  const shown = result.text
    .replace(/^Chunk ID: [0-9a-f]{6}$/m, 'Chunk ID: ID')
    .replace(/^Wall time: \d+\.\d{4} seconds$/m, 'Wall time: TIME')
    .replace(/session ID \d+$/m, 'session ID N');
  return { ...result, shown, output: result.structured?.output ?? '', facts: result.structured };
}

/** Shell for "wait until the test makes this file", so that nothing depends on how fast the machine is. */
export const untilFile = (name: string): string => `until [ -e ${name} ]; do sleep 0.02; done`;
