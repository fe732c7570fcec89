import { closeSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PathUri } from '../../protocol/index.ts';
import { ANSWER_ROOM_BEFORE, streamPair } from '../os/index.ts';
import { readAnswerHead } from './answer.ts';
import { EngineChannel } from './channel.ts';

const request = { operation: 'readFile', paths: [PathUri.fromNative('/file')] } as const;

/** An answer with `length` bytes of content. */
function answerOf(id: number, length: number): Buffer {
  const answer = Buffer.alloc(ANSWER_ROOM_BEFORE + length, 'x');
  answer.fill(0, 0, ANSWER_ROOM_BEFORE);
  answer.writeUInt32LE(length, 0);
  answer.writeUInt32LE(id, 4);
  return answer;
}

describe('a channel to an engine', () => {
  it('gives the whole answer of one that is stopped in the middle of it, and waits for it aside', async () => {
    const [own, other] = streamPair();
    const channel = new EngineChannel(own);
    const answer = answerOf(1, 1000);
    writeSync(other, answer.subarray(0, 500));

    const late = channel.exchangeNow(request);
    expect(late).toBeInstanceOf(Promise);
    await delay(1500); // the stop itself
    writeSync(other, answer.subarray(500));

    expect(readAnswerHead(await late)).toMatchObject({ id: 1, payloadBytes: 1000 });
    await channel[Symbol.asyncDispose]();
    closeSync(other);
  });
});
