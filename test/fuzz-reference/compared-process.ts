import type { Notice, TrackedProcess } from '../support/tracked-process.ts';
import type { Outcome } from './server-side.ts';
import { memberOf } from './step.ts';

/** Commands whose output is one write, so that chunks and numbers are the same in every run. */
const singleWrites = [['/bin/true'], ['/bin/false'], ['/bin/echo'], ['cat'], ['sleep']];

/** A process of a sequence, and what has to be waited for so that the next step finds the same state in every run. */
export class ComparedProcess {
  readonly #argv: readonly string[];
  readonly #tty: boolean;
  readonly #isCat: boolean;
  readonly #announces: boolean;
  readonly #waits: boolean;
  readonly #written = new Set<unknown>();
  #tracked: TrackedProcess;
  #ended = false;
  #expected = 0;
  /** Bytes of a line that a terminal has not handed on. */
  #line = '';

  constructor(tracked: TrackedProcess, params: unknown) {
    this.#tracked = tracked;
    this.#argv = Array.isArray(memberOf(params, 'argv')) ? (memberOf(params, 'argv') as string[]) : [];
    this.#tty = memberOf(params, 'tty') === true;
    const program = this.#argv[0];
    const hasInput = this.#tty || memberOf(params, 'pipeStdin') === true;
    this.#announces = /exec cat$/.test(this.#argv[2] ?? '');
    this.#isCat = program === 'cat' || this.#announces;
    this.#waits = program === 'sleep' || (this.#isCat && hasInput);
  }

  /** Whether chunks and their numbers do not depend on the time. */
  get isExact(): boolean {
    return !this.#tty && singleWrites.some(([program]) => this.#argv[0] === program);
  }

  follow(tracked: TrackedProcess): void {
    this.#tracked = tracked;
    this.#expected = 0;
  }

  async closed(): Promise<void> {
    if (this.#ended) return;
    await this.#tracked.closed();
    this.#ended = true;
  }

  /** Waits until the consequences of a request have been told; what they were. */
  async after(method: string, params: unknown, result: unknown): Promise<Outcome> {
    if (this.#ended) return {};
    if (method === 'process/start') return this.#waits ? this.#start() : this.#end();
    if (method === 'process/terminate') return this.#end();
    if (method === 'process/signal' && memberOf(params, 'signal') === 'interrupt') return this.#end();
    if (method === 'process/write' && memberOf(result, 'status') === 'accepted') return this.#answerTo(params);
    return {};
  }

  /** Until the command says that it is ready, or has ended instead. */
  async #start(): Promise<Outcome> {
    if (!this.#announces) return {};
    await this.#tracked.until(() => /ready\s*\n/.test(this.#tracked.output()) || this.#hasExited);
    if (this.#hasExited) return this.#end();
    this.#expected = this.#tracked.bytes().length;
    return { ready: true };
  }

  get #hasExited(): boolean {
    return this.#tracked.notices.some(({ method }) => method === 'process/closed');
  }

  async #end(): Promise<Outcome> {
    await this.closed();
    const exited = this.#tracked.notices.find(({ method }) => method === 'process/exited');
    const isLate = ({ method, params }: Notice) =>
      method === 'process/output' && params.seq > (exited?.params.seq ?? 0);
    return {
      exitCode: exited?.params.exitCode,
      sandboxDenied: exited?.params.sandboxDenied,
      output: Object.fromEntries(['stdout', 'stderr', 'pty'].map((stream) => [stream, this.#tracked.output(stream)])),
      outputAfterExit: this.isExact && this.#tracked.notices.some(isLate),
    };
  }

  async #answerTo(params: unknown): Promise<Outcome> {
    const writeId = memberOf(params, 'writeId');
    if (!this.#waits || this.#written.has(writeId)) return {};
    this.#written.add(writeId);
    const written = Buffer.from(String(memberOf(params, 'chunk')), 'base64').toString('latin1');
    this.#expected += this.#tty ? this.#echo(written) : this.#isCat ? written.length : 0;
    await this.#tracked.until(() => this.#tracked.bytes().length >= this.#expected);
    return { printed: this.#tracked.bytes().toString('latin1') };
  }

  /** How many bytes a terminal shows for these: each as it is typed, and lines once more when `cat` prints them. */
  #echo(written: string): number {
    let shown = 0;
    for (const byte of written) {
      this.#line += byte;
      shown += byte === '\n' || byte < ' ' ? 2 : 1;
      if (byte !== '\n') continue;
      if (this.#isCat) shown += this.#line.length + 1;
      this.#line = '';
    }
    return shown;
  }
}
