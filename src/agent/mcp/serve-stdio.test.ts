import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { silentLogger } from '../../base/index.ts';
import { serveStdio } from './serve-stdio.ts';

it('serves no client when it has been told to stop while it was getting ready', async () => {
  const stop = new AbortController();
  let isDisposed = false;
  const openToolSet = async () => {
    stop.abort();
    return {
      instructions: '',
      tools: [],
      async [Symbol.asyncDispose]() {
        isDisposed = true;
      },
    };
  };

  await serveStdio(
    { input: new PassThrough(), output: new PassThrough(), openToolSet, log: silentLogger },
    stop.signal,
  );

  expect(isDisposed).toBe(true);
});
