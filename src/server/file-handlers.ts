import { isLarge, type ResultText, releaseResult } from '../host/engine/index.ts';
import type { FileService } from '../host/files/index.ts';
import { type FileMethod, fileMethods, type Params } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers } from './handlers.ts';
import { releaseAfter } from './payload.ts';

/** Every method of the filesystem; the payload of a write is released when it has been carried out. */
export function fileHandlers(files: FileService): Handlers {
  const answer = <M extends FileMethod>(method: M, params: Params<M>) => encoded(files.answer(method, params));
  const names = Object.keys(fileMethods) as FileMethod[];
  const all = names.map((method) => [method, (params: Params<typeof method>) => answer(method, params)]);
  return {
    ...Object.fromEntries(all),
    'fs/writeFile': (params) => releaseAfter(params.dataBase64, answer('fs/writeFile', params)),
    'fs/writeBlock': (params) => releaseAfter(params.chunk, answer('fs/writeBlock', params)),
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
