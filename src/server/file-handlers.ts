import { isLarge, type ResultText, releaseResult } from '../host/engine/index.ts';
import { type FileMethod, isFileMethod, methods, type Params } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers, RequestContext } from './handlers.ts';
import { releaseAfter } from './payload.ts';

const answer = <M extends FileMethod>(method: M, params: Params<M>, { files }: RequestContext) =>
  encoded(files.answer(method, params));

const names = Object.keys(methods).filter(isFileMethod);

/** Every method of the filesystem; the payload of a write is released when it has been carried out. */
export const fileHandlers: Handlers = {
  ...Object.fromEntries(
    names.map((method) => [
      method,
      (params: Params<typeof method>, context: RequestContext) => answer(method, params, context),
    ]),
  ),
  'fs/writeFile': (params, context) => releaseAfter(params.dataBase64, answer('fs/writeFile', params, context)),
  'fs/writeBlock': (params, context) => releaseAfter(params.chunk, answer('fs/writeBlock', params, context)),
};

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
