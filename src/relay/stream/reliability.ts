import type { Clock } from '../../base/index.ts';
import type { RelayBody, RelayFrame } from '../wire/frame.ts';
import type { OutgoingFrame } from '../wire/frame-transport.ts';
import type { RelayError } from '../wire/relay-error.ts';
import type { Arrival } from './incoming-records.ts';
import { limits } from './limits.ts';
import type { ReorderWindow } from './reorder-window.ts';
import type { SendWindow } from './send-window.ts';

export interface ReliabilityOptions {
  readonly clock: Clock;
  /** The frames that were sent, also before the peer agreed. */
  readonly sent: SendWindow;
  /** The records that have arrived, to be acknowledged. */
  readonly arrived: Pick<ReorderWindow, 'next' | 'waitingBits'>;
  /** Sends a frame without data; may do nothing while there is no connection. */
  send(body: RelayBody): void;
  /** Sends data frames again. */
  resend(frames: readonly OutgoingFrame[]): void;
  /** Called when no frame has arrived for too long. */
  onSilence(): void;
  /** Called when the peer acknowledges what it cannot have, or nothing for too long. */
  onViolation(error: RelayError): void;
}

/** Acknowledged delivery in both directions: acknowledges the records of the peer, and sends again those that the peer lacks. */
export class Reliability {
  readonly #options: ReliabilityOptions;
  readonly #timers = new Map<'ack' | 'resend' | 'heartbeat', () => void>();
  #unackedFrames = 0;
  #unackedBytes = 0;
  #lastSent: number;
  #lastReceived: number;
  /** While resuming, the first frame of the peer is the answer. */
  #phase: 'running' | 'paused' | 'resuming' = 'running';

  constructor(options: ReliabilityOptions) {
    this.#options = options;
    this.#lastSent = this.#lastReceived = options.clock.now();
    this.#heartbeat(limits.heartbeatMs);
    this.#schedule();
  }

  /** The acknowledgement in every frame: the last record of those without a gap, and the bits after it. None before the first. */
  get acknowledgement(): Pick<RelayFrame, 'ack' | 'ackBits'> {
    const { next, waitingBits } = this.#options.arrived;
    return next === 0 ? {} : { ack: next - 1, ackBits: waitingBits };
  }

  /** Notes a data frame that has just been sent, with the acknowledgement of the moment in it. */
  frameSent(seq: number, frame: OutgoingFrame): void {
    const now = this.#options.clock.now();
    this.#options.sent.sent(seq, frame, now);
    this.#lastSent = now;
    if (this.#options.arrived.next > 1) this.#acknowledged(); // an `ack` of 0 in a data frame is none
    this.#schedule();
  }

  /** Notes a data frame that has arrived and was dealt with. */
  frameArrived(bytes: number, arrival: Arrival): void {
    this.#unackedFrames++;
    this.#unackedBytes += bytes;
    // Of a repeated frame the acknowledgement was lost, and a gap should be known soon.
    if (arrival !== 'expected' || this.#unackedFrames >= limits.ackFrames || this.#unackedBytes >= limits.ackBytes)
      this.acknowledge();
    else if (!this.#timers.has('ack')) this.#timer('ack', limits.ackMs, () => this.acknowledge());
  }

  acknowledge(): void {
    if (this.#options.arrived.next === 0) return;
    this.#send({ type: 'ack' });
  }

  /** Takes the acknowledgement in any frame of the peer. */
  received(frame: RelayFrame): void {
    this.#lastReceived = this.#options.clock.now();
    const { ack = 0, ackBits = 0, body } = frame;
    try {
      if (ack > 0 || body.type === 'ack') this.#take(ack + 1, ackBits);
      if (body.type === 'resume') this.#take(body.nextSeq, 0);
      if (body.type === 'resume') this.#answer();
      if (body.type === 'resume' || this.#phase === 'resuming') this.#continue();
    } catch (error) {
      this.#options.onViolation(error as RelayError);
    }
  }

  /** Asks the peer to continue on a new connection. */
  resume(): void {
    const { clock, arrived, sent } = this.#options;
    this.#phase = 'resuming';
    this.#lastReceived = clock.now();
    this.#send({ type: 'resume', nextSeq: arrived.next });
    sent.unacknowledged(this.#lastReceived);
    this.#schedule();
    this.#heartbeat(limits.heartbeatMs);
  }

  /** Asks for any frame: the peer answers a `resume` at once. */
  ask(): void {
    this.#send({ type: 'resume', nextSeq: this.#options.arrived.next });
  }

  /** Stops all clocks, until `resume` or for good. */
  pause(): void {
    this.#phase = 'paused';
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  /** Answers a `resume`, but not by another `resume`: if the network repeated one, both ends would answer each other for ever. */
  #answer(): void {
    this.#send({ type: this.#options.arrived.next > 0 ? 'ack' : 'heartbeat' });
  }

  /** The connection leads to the peer again: frames it lacks were lost with the old one. */
  #continue(): void {
    const { clock, resend, sent } = this.#options;
    this.#phase = 'running';
    resend(sent.unacknowledged(clock.now()));
    this.#schedule();
  }

  #take(next: number, bits: number): void {
    const missing = this.#options.sent.acknowledged(next, bits, this.#options.clock.now());
    if (missing.length > 0) this.#options.resend(missing);
    this.#schedule();
  }

  #send(body: RelayBody): void {
    this.#options.send(body);
    this.#lastSent = this.#options.clock.now();
    this.#acknowledged();
  }

  #acknowledged(): void {
    this.#unackedFrames = 0;
    this.#unackedBytes = 0;
    this.#cancel('ack');
  }

  #schedule(): void {
    this.#cancel('resend');
    const { dueAt } = this.#options.sent;
    if (dueAt === undefined) return;
    this.#timer('resend', Math.max(0, dueAt - this.#options.clock.now()), () => {
      try {
        this.#options.resend(this.#options.sent.overdue(this.#options.clock.now()));
        this.#schedule();
      } catch (error) {
        this.#options.onViolation(error as RelayError);
      }
    });
  }

  #heartbeat(afterMs: number): void {
    this.#cancel('heartbeat');
    this.#timer('heartbeat', afterMs, () => {
      const now = this.#options.clock.now();
      if (now - this.#lastReceived >= limits.silenceMs) return this.#options.onSilence();
      if (now - this.#lastSent >= limits.heartbeatMs) this.#send({ type: 'heartbeat' });
      this.#heartbeat(this.#lastSent + limits.heartbeatMs - now);
    });
  }

  #timer(name: 'ack' | 'resend' | 'heartbeat', ms: number, run: () => void): void {
    if (this.#phase === 'paused') return;
    const cancel = this.#options.clock.after(ms, () => {
      this.#timers.delete(name);
      run();
    });
    this.#timers.set(name, cancel);
  }

  #cancel(name: 'ack' | 'resend' | 'heartbeat'): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}
