import { type FileService, isLarge, type ResultText, releaseResult } from '../files/index.ts';
import type { FileMethod, Params } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers } from './handlers.ts';

export function fileHandlers(files: FileService): Handlers {
  const answering =
    <M extends FileMethod>(method: M) =>
    (params: Params<M>) =>
      encoded(files.answer(method, params));
  return {
    'fs/readFile': answering('fs/readFile'),
    'fs/writeFile': answering('fs/writeFile'),
    'fs/createDirectory': answering('fs/createDirectory'),
    'fs/getMetadata': answering('fs/getMetadata'),
    'fs/canonicalize': answering('fs/canonicalize'),
    'fs/readDirectory': answering('fs/readDirectory'),
    'fs/walk': answering('fs/walk'),
    'fs/remove': answering('fs/remove'),
    'fs/copy': answering('fs/copy'),
    'fs/open': answering('fs/open'),
    'fs/readBlock': answering('fs/readBlock'),
    'fs/writeBlock': answering('fs/writeBlock'),
    'fs/close': answering('fs/close'),
    'fs/watchMissing': answering('fs/watchMissing'),
  };
}

function encoded(result: ResultText | Promise<ResultText>): EncodedResult | Promise<EncodedResult> {
  return result instanceof Promise ? result.then(asResult) : asResult(result);
}

function asResult(result: ResultText): EncodedResult {
  const { buffer, start, end } = result;
  const delivered = isLarge(result) ? () => releaseResult(result) : undefined;
  return new EncodedResult([buffer.subarray(start, end)], delivered, { before: start, after: buffer.length - end });
}
