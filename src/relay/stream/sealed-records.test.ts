import { describe, expect, it } from 'vitest';
import { decodeFrame, type RelayData } from '../wire/frame.ts';
import { OutgoingMessage } from './outgoing-message.ts';
import { RecordOpener, RecordSealer } from './record-cipher.ts';
import { SealedRecords } from './sealed-records.ts';

const key = Buffer.alloc(32, 'k');
const ciphers = () => ({ sealer: new RecordSealer(key), opener: new RecordOpener(key), hash: key });

function recordsOf(message: string | Uint8Array, isAcknowledged: boolean): RelayData[] {
  const records = new SealedRecords(ciphers(), 61_440);
  const outgoing = new OutgoingMessage(message, undefined);
  const cut: RelayData[] = [];
  while (outgoing.taken < outgoing.length) {
    const frame = records.frame(outgoing, { streamId: 's' }, isAcknowledged);
    cut.push(decodeFrame(Buffer.concat(frame)).body as RelayData);
  }
  return cut;
}

describe('a message on an encrypted stream', () => {
  it.each([
    [1, false, [5]],
    [61_436, false, [61_440]],
    [61_437, false, [61_440, 1]],
    [200_000, false, [61_440, 61_440, 61_440, 15_684]],
    [200_000, true, [200_004]],
    [245_757, true, [245_760, 1]],
  ])('of %i bytes, with acknowledgements: %s, is cut into records of %j', (length, isAcknowledged, sizes) => {
    const bytes = Buffer.alloc(length, 'x');
    const peer = new SealedRecords(ciphers(), 245_760);

    const records = recordsOf(bytes, isAcknowledged);

    expect(records.map(({ payload }) => payload.length - 16)).toEqual(sizes);
    expect(records.map(({ seq }) => seq)).toEqual(sizes.map((_, at) => at));
    expect(records.flatMap((record) => peer.read(record)).map((one) => bytes.equals(one))).toEqual([true]);
  });

  it('may be text, which is sent as UTF-8', () => {
    const [record] = recordsOf('ü', false);

    expect(Buffer.from(new RecordOpener(key).open(record!.payload)).toString('hex')).toBe('00000002c3bc');
  });

  it('is refused in records larger than agreed, before they wait for their turn', () => {
    const [record] = recordsOf(Buffer.alloc(100_000), true);

    expect(() => new SealedRecords(ciphers(), 61_440).check(record!)).toThrow('record is too long');
    expect(() => new SealedRecords(ciphers(), 245_760).check(record!)).not.toThrow();
  });
});
