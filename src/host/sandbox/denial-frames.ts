import { posix } from 'node:path';
import { type Denial, limits, PathUri } from '../../protocol/index.ts';

/** The report of a supervisor about one call (native/stage/denials.h). */
export interface DenialReport {
  readonly denial: Denial;
  /** The path to be written, if it is not in the view: whether the sandbox is the reason depends on the policy. */
  readonly missing: string | undefined;
}

/** The header of a frame: kind, missing, length of the subject, length of the program, reserved. */
const HEADER_BYTES = 8;
const LONGEST_SUBJECT = 4096;
const LONGEST_PROGRAM = 255;

const KINDS: Readonly<Record<number, Denial['kind'] | undefined>> = { 1: 'write', 2: 'network', 3: 'syscall' };

/** The last frame. */
const END = Buffer.from([255, 0, 0, 0, 0, 0, 0, 0]);

/** The most bytes of all frames of one process: refusals and missing paths are counted separately. */
const MOST_FRAME_BYTES = 2 * limits.denialsPerProcess * (HEADER_BYTES + LONGEST_SUBJECT + LONGEST_PROGRAM);

/** Decodes frames from bytes as they arrive. Nothing is believed after an invalid frame. */
export class DenialFrames {
  #rest: Buffer = Buffer.alloc(0);
  #receivedBytes = 0;
  #broken = false;
  #ended = false;

  /** Whether the last frame has been received. */
  get ended(): boolean {
    return this.#ended;
  }

  get broken(): boolean {
    return this.#broken;
  }

  push(bytes: Buffer): DenialReport[] {
    const reports: DenialReport[] = [];
    this.#receivedBytes += bytes.length;
    if (this.#receivedBytes > MOST_FRAME_BYTES) this.#broken = true;
    if (this.#broken) return reports;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let report = this.#next(); report; report = this.#next()) reports.push(report);
    return reports;
  }

  #next(): DenialReport | undefined {
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
    return reportOf(
      kind,
      missing === 1,
      rest.subarray(HEADER_BYTES, HEADER_BYTES + subject),
      rest.subarray(end - program, end),
    );
  }
}

function reportOf(kind: Denial['kind'], missing: boolean, subject: Buffer, name: Buffer): DenialReport {
  const program = name.toString();
  if (kind !== 'write' || subject[0] !== SLASH) {
    const address = kind === 'network' && subject.length > 0 ? { address: subject.toString() } : {};
    return { denial: { kind, ...address, program }, missing: undefined };
  }
  const path = normalized(subject);
  const denial: Denial = { kind, path: PathUri.fromNative(textOrBytes(path)), program };
  return { denial, missing: missing ? path.toString() : undefined };
}

const SLASH = 0x2f;

/** Without dots and doubled slashes; other bytes stay as they are. */
function normalized(path: Buffer): Buffer {
  const clean = posix.normalize(path.toString('latin1'));
  return Buffer.from(clean.length > 1 && clean.endsWith('/') ? clean.slice(0, -1) : clean, 'latin1');
}

function textOrBytes(path: Buffer): string | Buffer {
  const text = path.toString();
  return Buffer.from(text).equals(path) ? text : path;
}
