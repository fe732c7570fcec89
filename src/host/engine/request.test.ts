import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathUri } from '../../protocol/index.ts';
import { fileAnswer, fileOperations } from '../os/index.ts';
import { encodeFileRequest, type FileOperation } from './request.ts';

/** Decodes a request as the engine does. */
function decoded(message: Buffer) {
  const pathLength = message.readUInt32LE(12);
  const targetLength = message.readUInt32LE(40);
  return {
    bodyLength: message.readUInt32LE(0),
    id: message.readUInt32LE(4),
    operation: message.readUInt16LE(8),
    flags: message.readUInt16LE(10),
    numbers: [0, 1, 2].map((at) => Number(message.readBigUInt64LE(16 + 8 * at))),
    path: message.subarray(48, 48 + pathLength),
    target: message.subarray(48 + pathLength, 48 + pathLength + targetLength),
  };
}

/** A path of names that may be any bytes but NUL and slash. */
const nativePath = fc
  .array(
    fc
      .uint8Array({ minLength: 1, maxLength: 12 })
      .map((bytes) => bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))),
    { minLength: 1, maxLength: 4 },
  )
  .filter((names) => names.every((name) => !/^\.{1,2}$/.test(Buffer.from(name).toString('latin1'))))
  .map((names) => Buffer.concat(names.flatMap((name) => [Buffer.from('/'), Buffer.from(name)])));

describe('a request to the engine', () => {
  it('carries operation, id, flags, numbers, paths and the length of its payload', () => {
    const operation = fc.constantFrom(...(Object.keys(fileOperations()) as FileOperation[]));
    const numbers = fc.array(fc.maxSafeNat(), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(
        operation,
        fc.nat(255),
        numbers,
        nativePath,
        nativePath,
        fc.nat(100),
        (name, flags, three, a, b, extra) => {
          const paths = [PathUri.fromNative(a), PathUri.fromNative(b)];
          const payload = new Uint8Array(extra);
          const message = encodeFileRequest({ operation: name, flags, numbers: three, paths, payload }, 7);
          expect(decoded(message)).toEqual({
            bodyLength: a.length + b.length + 2 + extra,
            id: 7,
            operation: fileOperations()[name],
            flags,
            numbers: three,
            path: Buffer.concat([a, Buffer.alloc(1)]),
            target: Buffer.concat([b, Buffer.alloc(1)]),
          });
        },
      ),
    );
  });

  it('has no slash at the end of a path, except for the root', () => {
    const path = (uri: string) =>
      decoded(encodeFileRequest({ operation: 'readFile', paths: [PathUri.parse(uri)] })).path;
    expect(path('file:///a/b//').toString()).toBe('/a/b\0');
    expect(path('file:///').toString()).toBe('/\0');
  });

  it('is refused by the engine when its parts contradict each other', () => {
    const good = encodeFileRequest({ operation: 'getMetadata', paths: [PathUri.parse('file:///')] });
    expect(fileAnswer(good).readUInt32LE(8)).toBe(0);
    const corrupted = (change: (message: Buffer) => void) => {
      const message = Buffer.from(good);
      change(message);
      return () => fileAnswer(message);
    };
    const refusal = 'expected a file request (native/fs/engine.h)';
    expect(corrupted((message) => message.writeUInt32LE(99, 0))).toThrow(refusal); // length of the body
    expect(corrupted((message) => message.writeUInt32LE(99, 12))).toThrow(refusal); // length of the path
    expect(corrupted((message) => message.writeUInt32LE(0xffff_ffff, 40))).toThrow(refusal); // length of the second path
    expect(corrupted((message) => message.writeUInt8(0x61, 49))).toThrow(refusal); // a path without its end
    expect(() => fileAnswer(good.subarray(0, 47))).toThrow(refusal);
  });

  it('for an unknown operation, or without the path it needs, is answered as invalid', () => {
    const EINVAL = 22;
    const unknown = encodeFileRequest({ operation: 'getMetadata', paths: [PathUri.parse('file:///')] });
    unknown.writeUInt16LE(999, 8);
    const pathless = encodeFileRequest({ operation: 'getMetadata' });
    for (const message of [unknown, pathless]) expect(fileAnswer(message).readUInt32LE(12)).toBe(EINVAL);
  });
});
