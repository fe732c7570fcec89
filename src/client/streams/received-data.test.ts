import { expect, it } from 'vitest';
import { limits } from '../../protocol/index.ts';
import { ConnectionWaits } from '../connection-waits.ts';
import { ReceivedData } from './received-data.ts';

const KIB = 1024;

/** What is acknowledged while so many events of a size arrive and are read one by one. */
async function acknowledged(events: number, size: number): Promise<readonly number[]> {
  const acknowledged: number[] = [];
  const data = new ReceivedData({
    windowBytes: 1024 * KIB,
    waits: new ConnectionWaits(),
    acknowledge: (seq) => acknowledged.push(seq),
  });
  const reader = data.read();
  for (let seq = 1; seq <= events; seq++) {
    data.add({ seq, bytes: new Uint8Array(size) });
    await reader.next();
  }
  return acknowledged;
}

it('acknowledges what was read before the window is used up', async () => {
  expect(await acknowledged(8, 128 * KIB)).toEqual([2, 4, 6, 8]);
});

it('acknowledges single bytes before they are as many chunks as a server keeps', async () => {
  const [first] = await acknowledged(limits.retainedChunks, 1);
  expect(first).toBeLessThan(limits.retainedChunks / 4);
});
