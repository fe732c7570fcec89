import type { Carrier } from './memory-transport.ts';

/** What happens to one frame. A delayed one is overtaken by so many others. */
export type FrameFault =
  | { readonly type: 'pass' | 'drop' | 'duplicate' }
  | { readonly type: 'delay'; readonly by: number }
  | { readonly type: 'change'; readonly change: (frame: Uint8Array) => Uint8Array };

/** Carries the frames of one direction, and does to each what a script says; after its end it is faithful. */
export class HostileNetwork {
  readonly #script: readonly FrameFault[];
  #carried = 0;
  #held: { readonly frame: Uint8Array; left: number; readonly deliver: (frame: Uint8Array) => void }[] = [];

  constructor(script: readonly FrameFault[]) {
    this.#script = script;
  }

  readonly carry: Carrier = (frame, deliver) => {
    const fault = this.#script[this.#carried++] ?? { type: 'pass' };
    if (fault.type === 'delay') this.#held.push({ frame, left: fault.by + 1, deliver });
    else if (fault.type === 'change') deliver(fault.change(frame));
    else if (fault.type !== 'drop') deliver(frame);
    if (fault.type === 'duplicate') deliver(frame);
    for (const entry of this.#held) entry.left--;
    this.#deliver(({ left }) => left <= 0);
  };

  /** Delivers what would wait for further frames; tells whether there was any. */
  release(): boolean {
    const some = this.#held.length > 0;
    this.#deliver(() => true);
    return some;
  }

  #deliver(isDue: (entry: { left: number }) => boolean): void {
    const due = this.#held.filter(isDue);
    this.#held = this.#held.filter((entry) => !due.includes(entry));
    for (const { frame, deliver } of due) deliver(frame);
  }
}
