import { EventEmitter, on } from 'node:events';

/** The members the scenarios look at; each message has a few of them. */
interface Body {
  readonly processId?: string;
  readonly seq?: number;
  readonly stream?: string;
  readonly chunk?: string;
  readonly exitCode?: number;
  readonly sandboxDenied?: boolean;
  readonly tty?: boolean;
  readonly sandbox?: object | null;
  readonly sandboxType?: string;
  readonly signal?: string;
  readonly status?: string;
  readonly sessionId?: string;
  readonly resumeSessionId?: string | null;
  readonly environmentInfo?: object;
}

export interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Body;
  readonly result?: Body;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A message with a method; both requests and notifications have parameters. */
export type Call = Message & { readonly method: string; readonly params: Body };

export type Side = 'client' | 'server';

interface Entry {
  /** Connections are counted from 1. */
  readonly connection: number;
  readonly from: Side;
  readonly text: string;
  readonly message: Message;
}

/** Every message that crossed between the client and the server, in order. */
export class WireLog {
  readonly #entries: Entry[] = [];
  readonly #unreadable: string[] = [];
  readonly #growth = new EventEmitter();

  record(connection: number, from: Side, text: string): Message {
    const message = parse(text);
    this.#entries.push({ connection, from, text, message: message ?? {} });
    if (!message) this.#unreadable.push(text);
    this.#growth.emit('entry');
    return message ?? {};
  }

  /** What was sent but is no JSON. */
  get unreadable(): readonly string[] {
    return this.#unreadable;
  }

  requests(method: string): Call[] {
    return this.#calls('client', method);
  }

  notifications(method: string): Call[] {
    return this.#calls('server', method);
  }

  /** The methods the client used, each once. */
  methods(): Set<string> {
    return new Set(this.#from('client').flatMap(({ message }) => message.method ?? []));
  }

  /** Ids start again on every connection, so an answer belongs to its request's connection. */
  answerTo(request: Message): Message | undefined {
    const asked = this.#entries.find(({ message }) => message === request);
    return this.#from('server').find(
      ({ connection, message }) => connection === asked?.connection && message.id === request.id && !message.method,
    )?.message;
  }

  /** Resolves once the server has sent such a notification, now or earlier. */
  async notified(method: string, test: (params: Body) => boolean, signal: AbortSignal): Promise<void> {
    const arrived = () => this.notifications(method).some(({ params }) => test(params));
    if (arrived()) return;
    try {
      for await (const _ of on(this.#growth, 'entry', { signal })) if (arrived()) return;
    } catch {
      throw signal.reason; // says why the wait is over; the error caught says only that it is
    }
  }

  /** The last messages, shortened: what a reader needs to understand a failure. */
  tail(count: number): string {
    return this.#entries
      .slice(-count)
      .map(({ connection, from, text }) => `${connection} ${from} ${shorten(text)}`)
      .join('\n');
  }

  #from(side: Side): Entry[] {
    return this.#entries.filter(({ from }) => from === side);
  }

  #calls(side: Side, method: string): Call[] {
    return this.#from(side).flatMap(({ message }) => (isCall(message) && message.method === method ? message : []));
  }
}

function parse(text: string): Message | undefined {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return undefined; // kept apart, so that a test can say it wants none
  }
}

function isCall(message: Message): message is Call {
  return message.method !== undefined && message.params !== undefined;
}

function shorten(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 300)} … ${text.slice(-80)}`;
}
