import { constants } from 'node:os';
import { type Deferred, deferred } from '../../base/index.ts';
import { childEventKind } from './addon.ts';
import { type Child, type ChildEvent, type ExitStatus, type OutputStream, outputStreams } from './child.ts';
import { ChildEvents } from './child-events.ts';
import { NativeInput } from './child-input.ts';
import { outputChunk } from './chunk.ts';
import { killFamily } from './family.ts';
import { PROCESS_MASK } from './family-mark.ts';
import { noteOwnFamily } from './own-families.ts';
import type { ChildReceiver, Reactor } from './reactor.ts';
import type { SpawnOptions } from './spawn.ts';

type ChildOptions = Pick<SpawnOptions, 'io' | 'mark' | 'deliverSignal'>;

/** A child of the native addon. */
export class NativeChild implements Child, ChildReceiver {
  readonly pid: number;
  readonly events: ChildEvents;
  readonly stdin: NativeInput | undefined;
  readonly #reactor: Reactor;
  readonly #id: number;
  #mark: bigint;
  readonly #deliverSignal: SpawnOptions['deliverSignal'];
  readonly #streams: readonly OutputStream[];
  readonly #exited: Deferred<ExitStatus> = deferred();
  #released = false;

  constructor(reactor: Reactor, id: number, pid: number, options: ChildOptions) {
    const { io, mark, deliverSignal } = options;
    const terminal = io.type === 'pty';
    this.pid = pid;
    this.#reactor = reactor;
    this.#id = id;
    this.#mark = mark;
    this.#deliverSignal = deliverSignal;
    noteOwnFamily(mark);
    this.#streams = outputStreams(io);
    this.events = new ChildEvents((event) => this.#grant(event));
    this.stdin = terminal || io.stdin === 'open' ? new NativeInput(reactor.addon, id, terminal) : undefined;
    reactor.add(id, this);
  }

  get exited(): Promise<ExitStatus> {
    return this.#exited.promise;
  }

  signal(signal: number): boolean {
    if (this.#released) return false;
    if (this.#deliverSignal && signal !== constants.signals.SIGKILL) return this.#deliverSignal(signal);
    return this.#reactor.addon.signal(this.#id, signal);
  }

  join(mark: bigint): ReturnType<Child['join']> {
    const errno = this.#released ? constants.errno.ESRCH : this.#reactor.addon.join(this.#id, mark);
    if (errno !== 0) return joinFailures.get(errno) ?? 'failed';
    this.#mark = mark;
    noteOwnFamily(mark);
    return 'joined';
  }

  resize(rows: number, cols: number): void {
    if (!this.#released) this.#reactor.addon.resize(this.#id, rows, cols);
  }

  terminalMode(): { canonical: boolean; echo: boolean; eof: number } {
    const mode = this.#released ? -constants.errno.EBADF : this.#reactor.addon.terminalMode(this.#id);
    if (mode < 0) throw new Error('this process has no open terminal');
    return { canonical: (mode & 1) !== 0, echo: (mode & 2) !== 0, eof: mode >> 8 };
  }

  /** Sets whether the event loop stays alive for the child. */
  hold(held: boolean): void {
    if (!this.#released) this.#reactor.addon.hold(this.#id, held);
  }

  closeOutputs(): void {
    if (!this.#released) this.#reactor.addon.closeOutputs(this.#id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal(constants.signals.SIGKILL);
    if (this.#mark !== 0n) await killFamily(this.#mark, PROCESS_MASK);
    this.closeOutputs();
    await this.exited;
  }

  receive(kind: number, stream: number, value: number | Buffer, byteLength: number): void {
    if (kind === childEventKind.output) {
      const chunk = outputChunk(value as Buffer, byteLength);
      this.events.push({ type: 'output', stream: this.#streams[stream]!, chunk });
    } else if (kind === childEventKind.ended) {
      this.events.push({ type: 'ended', stream: this.#streams[stream]! });
    } else if (kind === childEventKind.exited || kind === childEventKind.killed) {
      const status = kind === childEventKind.exited ? { code: value as number } : { signal: value as number };
      this.events.push({ type: 'exited', status });
      this.#exited.resolve(status);
    } else if (kind === childEventKind.drained) {
      this.stdin?.drained();
    } else if (kind === childEventKind.inputFailed) {
      this.stdin?.failed(value as number);
    } else if (kind === childEventKind.released) {
      this.#release();
    }
  }

  failed(error: unknown): void {
    this.events.fail(error);
  }

  #grant(event: ChildEvent): void {
    if (this.#released || event.type !== 'output') return;
    this.#reactor.addon.grant(this.#id, this.#streams.indexOf(event.stream), event.chunk.byteLength);
  }

  #release(): void {
    this.#released = true;
    this.#reactor.remove(this.#id);
    this.stdin?.failed(constants.errno.EPIPE);
    this.events.complete();
  }
}

const { ESRCH, EPERM, EACCES, ENOSYS } = constants.errno;

/** After any other error, another attempt may succeed. */
const joinFailures = new Map([
  [ESRCH, 'ended'],
  [EPERM, 'refused'],
  [EACCES, 'refused'],
  [ENOSYS, 'refused'],
] as const);
