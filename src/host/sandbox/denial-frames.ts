import { posix } from 'node:path';
import { type Denial, limits, PathUri } from '../../protocol/index.ts';

/** What a supervisor tells (native/stage/denials.h). */
export interface Fact {
  readonly denial: Denial;
  /** The path to be written is not in the view; whether the sandbox is why depends on the policy. */
  readonly missing: string | undefined;
}

/** The header of a frame: kind, missing, length of the subject, length of the program, reserved. */
const HEADER_BYTES = 8;
const LONGEST_SUBJECT = 4096;
const LONGEST_PROGRAM = 255;

const KINDS: Readonly<Record<number, Denial['kind'] | undefined>> = { 1: 'write', 2: 'network', 3: 'syscall' };

/** Says that nothing more comes. */
const END = Buffer.from([255, 0, 0, 0, 0, 0, 0, 0]);

/** What all frames of one process take at most: refusals and missing paths are counted apart. */
const MOST_FRAME_BYTES = 2 * limits.denialsPerProcess * (HEADER_BYTES + LONGEST_SUBJECT + LONGEST_PROGRAM);

/** Cuts frames out of bytes as they arrive. Nothing is believed after a frame without the right form. */
export class DenialFrames {
  #rest: Buffer = Buffer.alloc(0);
  #taken = 0;
  #broken = false;
  #ended = false;

  /** Whether the frame came that ends them. */
  get ended(): boolean {
    return this.#ended;
  }

  get broken(): boolean {
    return this.#broken;
  }

  push(bytes: Buffer): Fact[] {
    const facts: Fact[] = [];
    this.#taken += bytes.length;
    if (this.#taken > MOST_FRAME_BYTES) this.#broken = true;
    if (this.#broken) return facts;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let frame = this.#next(); frame; frame = this.#next()) facts.push(frame);
    return facts;
  }

  #next(): Fact | undefined {
    const rest = this.#rest;
    if (this.#broken || rest.length < HEADER_BYTES) return undefined;
    if (rest.equals(END)) {
      this.#ended = true;
      return undefined;
    }
    const kind = KINDS[rest.readUInt8(0)];
    const missing = rest.readUInt8(1);
    const subject = rest.readUInt16LE(2);
    const program = rest.readUInt16LE(4);
    if (!kind || missing > 1 || subject > LONGEST_SUBJECT || program > LONGEST_PROGRAM || rest.readUInt16LE(6) !== 0) {
      this.#broken = true;
      return undefined;
    }
    const end = HEADER_BYTES + subject + program;
    if (rest.length < end) return undefined;
    this.#rest = rest.subarray(end);
    return fact(
      kind,
      missing === 1,
      rest.subarray(HEADER_BYTES, HEADER_BYTES + subject),
      rest.subarray(end - program, end),
    );
  }
}

function fact(kind: Denial['kind'], missing: boolean, subject: Buffer, name: Buffer): Fact {
  const program = name.toString();
  if (kind !== 'write' || subject[0] !== SLASH) {
    const address = kind === 'network' && subject.length > 0 ? { address: subject.toString() } : {};
    return { denial: { kind, ...address, program }, missing: undefined };
  }
  const path = normal(subject);
  const denial: Denial = { kind, path: PathUri.fromNative(textOrBytes(path)), program };
  return { denial, missing: missing ? path.toString() : undefined };
}

const SLASH = 0x2f;

/** Without dots and doubled slashes, byte for byte. */
function normal(path: Buffer): Buffer {
  const clean = posix.normalize(path.toString('latin1'));
  return Buffer.from(clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean, 'latin1');
}

function textOrBytes(path: Buffer): string | Buffer {
  const text = path.toString();
  return Buffer.from(text).equals(path) ? text : path;
}
