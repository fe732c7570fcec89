import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Notice } from '../support/tracked-process.ts';
import {
  type Answer,
  connect,
  connectBare,
  resume,
  type WebSocketClient,
  type WireFailure,
} from '../support/wire-client.ts';
import { ComparedProcess } from './compared-process.ts';
import { type ConfinedServer, SCRATCH } from './confined-server.ts';
import { decoded, isGuarded } from './guard.ts';
import { normalised } from './normalise.ts';
import { memberOf, messageText, type Step } from './step.ts';

export type Outcome = Readonly<Record<string, unknown>>;

const PATIENCE_MS = 30_000;

/** The side of one server in a sequence: a connection, its processes and its watch. */
export class ServerSide implements AsyncDisposable {
  /** The scratch directory of the sequence as this process sees it. */
  readonly folder: string;
  readonly #url: string;
  /** The scratch directory as the server sees it, and the only address it may connect to. */
  readonly #scratch: string;
  readonly #upstream: string;
  readonly #processes = new Map<string, ComparedProcess>();
  #client: WebSocketClient;
  #session: string;
  #lost = false;
  #nextId = 1000;
  #watched: { readonly id: number; readonly missing: readonly string[] } | undefined;

  private constructor(
    server: ConfinedServer,
    lane: string,
    upstream: string,
    client: WebSocketClient,
    session: string,
  ) {
    this.folder = join(server.scratch, lane);
    this.#url = server.url;
    this.#scratch = `${SCRATCH}/${lane}`;
    this.#upstream = upstream;
    this.#client = client;
    this.#session = session;
    this.#noticeLoss();
  }

  static async start(server: ConfinedServer, lane: string, upstream: string): Promise<ServerSide> {
    const client = await connectBare(server.url);
    const session = await client.initialize();
    return new ServerSide(server, lane, upstream, client, session);
  }

  /** The normalised outcome of a step. */
  async take(step: Step): Promise<Outcome> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Outcome>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, { late: true });
    });
    const outcome = await Promise.race([this.#take(step), late]);
    clearTimeout(timer);
    if (this.#lost) await this.resume();
    return outcome;
  }

  /** Goes on in another connection: handles and watches are gone, processes are not. */
  async resume(): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
    this.#goOnWith(await resume(this.#url, this.#session));
    for (const [id, process] of this.#processes) process.follow(this.#client.track(id));
  }

  /** Goes on in another session, with nothing of this one. */
  async beginAgain(): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
    this.#goOnWith(await connectBare(this.#url));
    this.#session = await this.#client.initialize();
    this.#processes.clear();
  }

  #goOnWith(client: WebSocketClient): void {
    this.#client = client;
    this.#lost = false;
    this.#watched = undefined;
    this.#noticeLoss();
  }

  /** Ends a process if it runs. */
  async end(processId: string): Promise<void> {
    const process = this.#processes.get(processId);
    await this.#client.call('process/terminate', { processId }).catch(() => {}); // there was none
    await Promise.race([process?.closed(), this.#client.closed]); // a lost connection tells nothing any more
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#processes.keys()) await this.end(id);
    await this.#client[Symbol.asyncDispose]();
  }

  async #take(step: Step): Promise<Outcome> {
    switch (step.kind) {
      case 'raw':
        return this.#answerToText(step.text);
      case 'resume':
        return this.resume().then(() => ({ resumed: true }));
      case 'rival':
        return this.#rival();
      case 'call': {
        const outcome = await this.#call(step.method, step.params);
        return { ...outcome, ...(await this.#watchOutcome()) };
      }
    }
  }

  async #rival(): Promise<Outcome> {
    await using rival = await connectBare(this.#url);
    const answer = await rival.initialize({ resumeSessionId: this.#session }).catch((error: WireFailure) => error);
    if (typeof answer === 'string') return { taken: true };
    return { code: answer.code, message: answer.message.replace(this.#session, '<session>') };
  }

  async #call(method: string, params: unknown): Promise<Outcome> {
    const processId = memberOf(params, 'processId');
    const isStart = method === 'process/start' && typeof processId === 'string' && !this.#processes.has(processId);
    const started = isStart ? new ComparedProcess(this.#client.track(processId), params) : undefined;
    const process = started ?? this.#processes.get(String(processId));
    const answer = await this.#ask(method, params);
    const outcome = answer.id === -1 ? malformed(answer) : outcomeOf(method, answer, process);
    if (!('result' in outcome)) return outcome;
    if (started) this.#processes.set(String(processId), started);
    if (method === 'http/request') return { ...outcome, ...(await this.#bodyOf(params)) };
    if (method === 'fs/watchMissing') this.#rememberWatch(params, outcome);
    return { ...outcome, ...(await process?.after(method, params, outcome.result)) };
  }

  /** The answer to a request, or the one with id -1 that says that it could not be read. */
  async #ask(method: string, params: unknown): Promise<Answer> {
    const id = this.#nextId++;
    if (!isGuarded({ kind: 'call', method, params, oddities: 0 }, this.#scratch, this.#upstream))
      throw new Error(`leads out of the scratch directory: ${method} ${JSON.stringify(params)}`);
    return this.#exchange(messageText({ id, method, params }), (answer) => answer.id === id || answer.id === -1);
  }

  async #answerToText(text: string): Promise<Outcome> {
    const answer = await this.#exchange(text, (message) => message.id !== undefined && !('method' in message));
    return answer.id === -1 ? malformed(answer) : { id: answer.id, result: answer.result, error: answer.error };
  }

  async #exchange(text: string, isAnswer: (answer: Answer) => boolean): Promise<Answer> {
    const { stray } = this.#client;
    const seen = stray.length;
    this.#client.raw(text);
    const isNew = (message: Notice | Answer) => isAnswer(message as Answer) && stray.lastIndexOf(message) >= seen;
    return this.#client
      .strayUntil(isNew)
      .catch(() => ({ error: { code: 0, message: 'connection lost' } })) as Promise<Answer>;
  }

  /** The streamed body of a response, put together. */
  async #bodyOf(params: unknown): Promise<Outcome> {
    if (memberOf(params, 'streamResponse') !== true) return {};
    const { stray } = this.#client;
    const deltas = () =>
      stray.filter(
        (message) =>
          memberOf(message, 'method') === 'http/request/bodyDelta' &&
          memberOf(message, 'params', 'requestId') === memberOf(params, 'requestId'),
      );
    await this.#client.strayUntil(() => deltas().some((delta) => memberOf(delta, 'params', 'done') === true));
    const own = deltas().map((delta) => memberOf(delta, 'params') as Record<string, unknown>);
    for (const delta of deltas()) stray.splice(stray.indexOf(delta), 1);
    return {
      body: Buffer.concat(own.map(({ deltaBase64 }) => Buffer.from(String(deltaBase64), 'base64'))).toString('base64'),
      error: own.at(-1)?.error,
      inOrder: own.every(({ seq }, index) => seq === index + 1),
    };
  }

  #rememberWatch(params: unknown, { result }: Outcome): void {
    const id = Number(String(memberOf(params, 'watchId')).replace('literal:', ''));
    if (memberOf(result, 'watching') === true) this.#watched = { id, missing: memberOf(params, 'missing') as string[] };
    else if (id > (this.#watched?.id ?? 0)) this.#watched = undefined;
  }

  /** A watch fires when a path appears; more often is allowed. */
  async #watchOutcome(): Promise<Outcome> {
    const watch = this.#watched;
    if (!watch?.missing.some((uri) => this.#exists(uri))) return {};
    this.#watched = undefined;
    await this.#client.strayUntil(
      (message) =>
        memberOf(message, 'method') === 'fs/missingChanged' && memberOf(message, 'params', 'watchId') === watch.id,
    );
    return { fired: true };
  }

  /** Whether there is something, a dangling link included, in the place that a URI names. */
  #exists(uri: string): boolean {
    const native = URL.canParse(uri) ? decoded(new URL(uri).pathname) : '';
    if (!native.startsWith(`${SCRATCH}/`)) return false;
    const path = Buffer.from(join(this.folder, '..', native.slice(SCRATCH.length)), 'latin1');
    try {
      return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false; // a file stands where a directory should be, or the name is too long
    }
  }

  #noticeLoss(): void {
    const client = this.#client;
    void client.closed.then(() => {
      if (client === this.#client) this.#lost = true;
    });
  }
}

/** Only the code: each server has its own text for a message that it cannot read. */
const malformed = ({ error }: Answer): Outcome => ({ id: -1, code: error?.code });

function outcomeOf(method: string, { result, error }: Answer, process: ComparedProcess | undefined): Outcome {
  return error
    ? { error: { code: error.code, message: error.message } }
    : { result: normalised(method, result as Record<string, unknown>, process) };
}

/** Whether a server still answers. */
export async function serves(server: ConfinedServer): Promise<boolean> {
  await using client = await connect(server.url);
  return (await client.call('environment/status')).status === 'ready';
}
