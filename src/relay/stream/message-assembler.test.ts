import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageAssembler } from './message-assembler.ts';

const message = fc.uint8Array({ minLength: 1, maxLength: 50 });
const framed = (bytes: Uint8Array): Buffer => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('messages in records', () => {
  it('are found again however the records are cut', () => {
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 40 })), (messages, cuts) => {
        const stream = Buffer.concat(messages.map(framed));
        const assembler = new MessageAssembler();
        const found: Uint8Array[] = [];
        let at = 0;
        for (const cut of [...cuts, stream.length]) {
          found.push(...assembler.push(stream.subarray(at, at + cut)));
          at += cut;
        }

        expect(found.map(hex)).toEqual(messages.map(hex));
      }),
      { numRuns: 300 },
    );
  });

  it('are refused by their length alone when they are empty or larger than 64 MiB', () => {
    expect(() => new MessageAssembler().push(Buffer.from('00000000', 'hex'))).toThrow('message is empty');
    expect(() => new MessageAssembler().push(Buffer.from('04000001', 'hex'))).toThrow('message of 67108865 bytes');
    expect(new MessageAssembler().push(Buffer.from('04000000', 'hex'))).toEqual([]);
  });
});
