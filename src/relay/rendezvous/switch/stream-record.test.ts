import { describe, expect, it } from 'vitest';
import { StreamRecord } from './stream-record.ts';

const data = (seq: number) => ({ streamId: 's', body: 'data', seq }) as const;
const heartbeat = { streamId: 's', body: 'heartbeat' } as const;

describe('the record of a stream', () => {
  it('notices a gap in either direction, and no repetition', () => {
    const record = new StreamRecord();
    expect([0, 1, 1, 0, 2].map((seq) => record.follows('toHarness', data(seq)))).toEqual(Array(5).fill(true));
    expect(record.follows('toHarness', data(4))).toBe(false);
    expect(record.follows('toEnvironment', data(1))).toBe(false);
  });

  it('treats a number that is closer from behind than from ahead as a repetition', () => {
    const record = new StreamRecord();
    record.follows('toHarness', data(0));

    expect(record.follows('toHarness', data(2 ** 32 - 1))).toBe(true);
    expect(record.follows('toHarness', data(2 ** 31))).toBe(false);
  });

  it('tolerates gaps once both ends have sent a heartbeat', () => {
    const record = new StreamRecord();
    record.follows('toEnvironment', heartbeat);
    expect([record.reliable, record.follows('toHarness', data(5))]).toEqual([false, false]);

    record.follows('toHarness', heartbeat);

    expect([record.reliable, record.follows('toHarness', data(5))]).toEqual([true, true]);
  });

  it('tolerates gaps of a stream that is resumed at a node without a record of it', () => {
    const record = new StreamRecord();
    record.follows('toEnvironment', { streamId: 's', body: 'resume', seq: 0 });
    expect(record.reliable).toBe(false);

    record.follows('toEnvironment', { streamId: 's', body: 'resume', seq: 3 });

    expect([record.reliable, record.follows('toHarness', data(5))]).toEqual([true, true]);
  });
});
