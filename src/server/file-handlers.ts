import type { FileService, PlainFileMethod, ResultText } from '../files/index.ts';
import type { Params } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers } from './handlers.ts';

export function fileHandlers(files: FileService): Handlers {
  const plain =
    <M extends PlainFileMethod>(method: M) =>
    (params: Params<M>) =>
      encoded(files.call(method, params));
  return {
    'fs/readFile': plain('fs/readFile'),
    'fs/writeFile': plain('fs/writeFile'),
    'fs/createDirectory': plain('fs/createDirectory'),
    'fs/getMetadata': plain('fs/getMetadata'),
    'fs/canonicalize': plain('fs/canonicalize'),
    'fs/readDirectory': plain('fs/readDirectory'),
    'fs/walk': plain('fs/walk'),
    'fs/remove': plain('fs/remove'),
    'fs/copy': plain('fs/copy'),
    'fs/open': (params) => encoded(files.open(params)),
    'fs/readBlock': (params) => encoded(files.readBlock(params)),
    'fs/writeBlock': (params) => encoded(files.writeBlock(params)),
    'fs/close': (params) => encoded(files.close(params)),
    'fs/watchMissing': (params) => encoded(files.watchMissing(params)),
  };
}

function encoded(result: ResultText | Promise<ResultText>): EncodedResult | Promise<EncodedResult> {
  return result instanceof Promise ? result.then(asResult) : asResult(result);
}

function asResult({ buffer, start, end }: ResultText): EncodedResult {
  const room = { before: start, after: buffer.length - end };
  return new EncodedResult([buffer.subarray(start, end)], undefined, room);
}
