export interface Notice {
  readonly method: string;
  readonly params: { readonly processId: string; readonly seq: number } & Readonly<Record<string, unknown>>;
}

export interface ReadResult {
  readonly chunks: readonly { seq: number; stream: string; chunk: string }[];
  readonly nextSeq: number;
  readonly exited: boolean;
  readonly exitCode: number | null;
  readonly closed: boolean;
  readonly truncated: boolean;
  readonly oldestSeq: number;
}

export type TranscriptEntry =
  | { readonly event: 'output'; readonly stream: string; readonly text: string }
  | { readonly event: 'exited'; readonly exitCode: number }
  | { readonly event: 'closed' };

const names = new Set(['process/output', 'process/exited', 'process/closed']);

/** The events of one process as they arrive. */
export class TrackedProcess {
  readonly id: string;
  readonly notices: Notice[] = [];
  #waiters: (() => void)[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** Takes what is an event of a process; tells whether it was one. */
  receive(notice: Notice): boolean {
    if (!names.has(notice.method)) return false;
    this.notices.push(notice);
    for (const wake of this.#waiters.splice(0)) wake();
    return true;
  }

  get lastSeq(): number {
    return this.notices.at(-1)?.params.seq ?? 0;
  }

  /** Resolves once the condition holds; it is looked at after every event. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  async exited(): Promise<number> {
    await this.until(() => this.#named('process/exited') !== undefined);
    return this.#named('process/exited')!.params.exitCode as number;
  }

  async closed(): Promise<void> {
    await this.until(() => this.#named('process/closed') !== undefined);
  }

  /** Resolves with the output so far once it contains the text. */
  async printed(wanted: string): Promise<string> {
    await this.until(() => this.output().includes(wanted));
    return this.output();
  }

  output(stream?: string): string {
    return this.bytes(stream).toString();
  }

  bytes(stream?: string): Buffer {
    const chunks = this.notices.filter(({ params }) => 'chunk' in params && (!stream || params.stream === stream));
    return Buffer.concat(chunks.map(({ params }) => Buffer.from(params.chunk as string, 'base64')));
  }

  get sequence(): number[] {
    return this.notices.map(({ params }) => params.seq);
  }

  /** Everything that happened until the close; neighbouring output of one stream is one. */
  async transcript(): Promise<TranscriptEntry[]> {
    await this.closed();
    const entries: TranscriptEntry[] = [];
    for (const { method, params } of this.notices) {
      const last = entries.at(-1);
      if (method === 'process/exited') entries.push({ event: 'exited', exitCode: params.exitCode as number });
      else if (method === 'process/closed') entries.push({ event: 'closed' });
      else {
        const { stream, chunk } = params as unknown as { stream: string; chunk: string };
        const text = Buffer.from(chunk, 'base64').toString();
        if (last?.event !== 'output' || last.stream !== stream) entries.push({ event: 'output', stream, text });
        else entries[entries.length - 1] = { ...last, text: last.text + text };
      }
    }
    return entries;
  }

  #named(method: string): Notice | undefined {
    return this.notices.findLast((notice) => notice.method === method);
  }
}
