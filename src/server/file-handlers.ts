import { type FileService, isLarge, type ResultText, releaseResult } from '../host/files/index.ts';
import type { FileMethod, Params } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers } from './handlers.ts';
import { using } from './payload.ts';

export function fileHandlers(files: FileService): Handlers {
  const answering =
    <M extends FileMethod>(method: M) =>
    (params: Params<M>) =>
      encoded(files.answer(method, params));
  const writing =
    <M extends 'fs/writeFile' | 'fs/writeBlock'>(method: M, payloadOf: (params: Params<M>) => Uint8Array) =>
    (params: Params<M>) =>
      using(payloadOf(params), encoded(files.answer(method, params)));
  return {
    'fs/readFile': answering('fs/readFile'),
    'fs/writeFile': writing('fs/writeFile', ({ dataBase64 }) => dataBase64),
    'fs/createDirectory': answering('fs/createDirectory'),
    'fs/getMetadata': answering('fs/getMetadata'),
    'fs/canonicalize': answering('fs/canonicalize'),
    'fs/readDirectory': answering('fs/readDirectory'),
    'fs/walk': answering('fs/walk'),
    'fs/remove': answering('fs/remove'),
    'fs/copy': answering('fs/copy'),
    'fs/open': answering('fs/open'),
    'fs/readBlock': answering('fs/readBlock'),
    'fs/writeBlock': writing('fs/writeBlock', ({ chunk }) => chunk),
    'fs/close': answering('fs/close'),
    'fs/watchMissing': answering('fs/watchMissing'),
  };
}

function encoded(result: ResultText | Promise<ResultText>): EncodedResult | Promise<EncodedResult> {
  return result instanceof Promise ? result.then(asResult) : asResult(result);
}

function asResult(result: ResultText): EncodedResult {
  const { buffer, start, end, onSent } = result;
  return new EncodedResult([buffer.subarray(start, end)], {
    onDelivered: isLarge(result) ? () => releaseResult(result) : undefined,
    onSent,
    room: { before: start, after: buffer.length - end },
  });
}
