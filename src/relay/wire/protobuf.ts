import { decodeUtf8, encodeUtf8 } from '../../base/index.ts';
import { RelayError } from './relay-error.ts';

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

/** A field: a number, bytes in any number of parts, or the fields of a message. */
export type Field =
  | { readonly no: number; readonly uint32: number }
  | { readonly no: number; readonly bytes: readonly Uint8Array[] }
  | { readonly no: number; readonly message: readonly Field[] };

export const uint32 = (no: number, value: number): Field => ({ no, uint32: value });
export const bytes = (no: number, ...parts: readonly Uint8Array[]): Field => ({ no, bytes: parts });
export const text = (no: number, value: string): Field => ({ no, bytes: [encodeUtf8(value)] });
export const message = (no: number, ...fields: readonly Field[]): Field => ({ no, message: fields });

/** Encodes fields in the order given. Numbers and bytes that are empty are left out, messages never are. */
export function encodeFields(fields: readonly Field[]): Uint8Array {
  const target = Buffer.allocUnsafe(sizeOf(fields));
  write(target, 0, fields);
  return target;
}

/** The tag and the length before the content of a field. */
export function delimiter(no: number, length: number): Uint8Array {
  const target = Buffer.allocUnsafe(1 + varintSize(length));
  target[0] = (no << 3) | DELIMITED;
  writeVarint(target, 1, length);
  return target;
}

function sizeOf(fields: readonly Field[]): number {
  let size = 0;
  for (const field of fields) size += fieldSize(field);
  return size;
}

function fieldSize(field: Field): number {
  if ('uint32' in field) return field.uint32 === 0 ? 0 : 1 + varintSize(field.uint32);
  const size = contentSize(field);
  return size === 0 && 'bytes' in field ? 0 : 1 + varintSize(size) + size;
}

function contentSize(field: Exclude<Field, { uint32: number }>): number {
  if ('message' in field) return sizeOf(field.message);
  let size = 0;
  for (const part of field.bytes) size += part.length;
  return size;
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
  return size;
}

function write(target: Buffer, start: number, fields: readonly Field[]): number {
  let at = start;
  for (const field of fields) {
    if (fieldSize(field) === 0) continue;
    if ('uint32' in field) {
      target[at++] = (field.no << 3) | VARINT;
      at = writeVarint(target, at, field.uint32);
      continue;
    }
    target[at++] = (field.no << 3) | DELIMITED;
    at = writeVarint(target, at, contentSize(field));
    if ('message' in field) at = write(target, at, field.message);
    else {
      for (const part of field.bytes) {
        target.set(part, at);
        at += part.length;
      }
    }
  }
  return at;
}

function writeVarint(target: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value >>> 0;
  while (rest > 0x7f) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/** Walks over the fields of an encoded message without copying; a field that is not read has to be skipped. */
export class FieldReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  #wireType = VARINT;
  /** Number of the field `next` has moved to. */
  no = 0;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.#wireType = tag & 7;
    this.no = tag >>> 3;
    if (this.no === 0) throw new RelayError('field number is 0');
    return true;
  }

  uint32(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  /** A view of the field's bytes. */
  bytes(): Uint8Array {
    const start = this.#delimited();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const content = this.bytes();
    try {
      return decodeUtf8(content);
    } catch {
      throw new RelayError(`field ${this.no} is not UTF-8`); // the decoder's message names no field
    }
  }

  message(): FieldReader {
    const start = this.#delimited();
    return new FieldReader(this.#bytes, start, this.#at);
  }

  skip(): void {
    if (this.#wireType === VARINT) this.#varint();
    else if (this.#wireType === DELIMITED) this.#delimited();
    else if (this.#wireType === FIXED64) this.#advance(8);
    else if (this.#wireType === FIXED32) this.#advance(4);
    else throw new RelayError(`field ${this.no} has unknown wire type ${this.#wireType}`);
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) throw new RelayError(`field ${this.no} has wire type ${this.#wireType}`);
  }

  #delimited(): number {
    this.#expect(DELIMITED);
    const length = this.#varint();
    const start = this.#at;
    this.#advance(length);
    return start;
  }

  #advance(length: number): void {
    if (length > this.#end - this.#at) throw new RelayError('frame is cut short');
    this.#at += length;
  }

  /** The low 32 bits, as every protobuf implementation reads them. */
  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= this.#end) throw new RelayError('frame is cut short');
      const byte = this.#bytes[this.#at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RelayError('varint is longer than 10 bytes');
  }
}
