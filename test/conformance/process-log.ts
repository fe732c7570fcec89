import { isObject, type Json, type JsonObject } from './json.ts';

export type ProcessEvent =
  | { kind: 'output'; seq: number; stream: string; bytes: Buffer }
  | { kind: 'exited'; seq: number; exitCode: Json; sandboxDenied: Json }
  | { kind: 'closed'; seq: number };

type EventOf<Kind> = Extract<ProcessEvent, { kind: Kind }>;

/** A process notification as an event; nothing for any other message. */
export function eventOf(message: JsonObject): ProcessEvent | undefined {
  const params = isObject(message.params) ? message.params : {};
  const seq = Number(params.seq);
  if (message.method === 'process/output') return outputOf(params);
  if (message.method === 'process/closed') return { kind: 'closed', seq };
  if (message.method !== 'process/exited') return undefined;
  return { kind: 'exited', seq, exitCode: params.exitCode ?? null, sandboxDenied: params.sandboxDenied ?? null };
}

export function outputOf(chunk: JsonObject): EventOf<'output'> {
  const bytes = Buffer.from(String(chunk.chunk), 'base64');
  return { kind: 'output', seq: Number(chunk.seq), stream: String(chunk.stream), bytes };
}

/** The events of one process, by number, whether they were pushed or read. */
export class ProcessLog {
  readonly #events = new Map<number, ProcessEvent>();

  /** Adds an event; says what is wrong when its number already stands for another one. */
  add(event: ProcessEvent): string | undefined {
    const known = this.#events.get(event.seq);
    this.#events.set(event.seq, event);
    if (!known || same(known, event)) return undefined;
    return `seq ${event.seq} is used for two events: ${describe(known)} and ${describe(event)}`;
  }

  /** In the order of their numbers. */
  get events(): ProcessEvent[] {
    return [...this.#events.values()].sort((a, b) => a.seq - b.seq);
  }

  get outputs(): EventOf<'output'>[] {
    return this.events.filter((event) => event.kind === 'output');
  }

  get exited(): EventOf<'exited'> | undefined {
    return this.events.find((event) => event.kind === 'exited');
  }

  get closed(): EventOf<'closed'> | undefined {
    return this.events.find((event) => event.kind === 'closed');
  }

  /** All bytes of each stream, chunk boundaries forgotten. */
  get streams(): Map<string, Buffer> {
    return joined(this.outputs);
  }

  /** Whether both logs number the same events in the same way. */
  agreesWith(other: ProcessLog): boolean {
    const [mine, theirs] = [this.events, other.events];
    return (
      mine.length === theirs.length &&
      mine.every((event, index) => event.seq === theirs[index]?.seq && same(event, theirs[index]))
    );
  }

  /** The number that `seq` of the other log has here: by what had been printed, not by how it was cut. */
  translate(seq: number, other: ProcessLog): { seq: number; exact: boolean } {
    const meant = other.events.find((event) => event.seq === seq);
    if (meant?.kind === 'exited' || meant?.kind === 'closed') {
      return { seq: this[meant.kind]?.seq ?? seq, exact: true };
    }
    if (!meant) return { seq, exact: true };
    const wanted = sizeOf(other.outputs.filter((event) => event.stream === meant.stream && event.seq <= seq));
    let size = 0;
    for (const event of this.outputs.filter(({ stream }) => stream === meant.stream)) {
      size += event.bytes.length;
      if (size >= wanted) return { seq: event.seq, exact: size === wanted };
    }
    return { seq, exact: false };
  }
}

export const sizeOf = (outputs: { bytes: Buffer }[]) => outputs.reduce((sum, { bytes }) => sum + bytes.length, 0);

export function joined(outputs: EventOf<'output'>[]): Map<string, Buffer> {
  const parts = new Map<string, Buffer[]>();
  for (const { stream, bytes } of outputs) parts.set(stream, [...(parts.get(stream) ?? []), bytes]);
  return new Map([...parts].map(([stream, list]) => [stream, Buffer.concat(list)]));
}

export function describe(event: ProcessEvent): string {
  if (event.kind === 'output') return `${event.stream} ${JSON.stringify(event.bytes.toString('latin1').slice(0, 200))}`;
  return event.kind === 'exited' ? `exit ${event.exitCode} (sandboxDenied ${event.sandboxDenied})` : 'closed';
}

function same(a: ProcessEvent, b: ProcessEvent | undefined): boolean {
  if (a.kind === 'output') return b?.kind === 'output' && a.stream === b.stream && a.bytes.equals(b.bytes);
  if (a.kind === 'closed') return b?.kind === 'closed';
  return b?.kind === 'exited' && a.exitCode === b.exitCode && a.sandboxDenied === b.sandboxDenied;
}
