import { listeningPorts, networkOf } from '../host/ports/index.ts';
import { ExecError, type Params, type Result } from '../protocol/index.ts';
import { DeferredResult, EncodedResult } from '../rpc/index.ts';
import type { Handlers, RequestContext } from './handlers.ts';
import { releaseAfter } from './payload.ts';

/** Connections to ports of this machine. */
export const portHandlers: Handlers = {
  'net/open': (params, context) => open(params, context),

  'net/write': ({ streamId, writeId, chunk }, { session }) =>
    releaseAfter(chunk, session.streams.require(streamId).write(writeId ?? undefined, chunk)),

  'net/end': ({ streamId }, { session }) => {
    session.streams.require(streamId).end();
    return {};
  },

  'net/close': ({ streamId }, { session }) => {
    session.streams.require(streamId).close();
    return {};
  },

  'net/read': async (params, { session, signal }) => {
    const stream = session.streams.require(params.streamId);
    await stream.readable(params, signal);
    return new DeferredResult(() => {
      const { parts, delivered } = stream.read(params);
      return new EncodedResult(parts, { onDelivered: delivered });
    });
  },

  'net/ack': ({ streamId, seq }, { session }) => {
    session.streams.require(streamId).settle(seq);
    return {};
  },

  'net/ports': async (params, { session }) => {
    const network = await networkOf(params ?? {}, session.networks);
    return { ports: await listeningPorts(network, (inodes) => session.processes.socketHolders(inodes)) };
  },

  'net/list': (_params, { session }) => ({ streams: session.streams.list() }),
};

async function open(
  params: Params<'net/open'>,
  { session, audit, counters }: RequestContext,
): Promise<Result<'net/open'>> {
  const { streamId, host, port, path, processId } = params;
  const wanted = {
    streamId,
    ...(path == null ? { host: host ?? 'localhost', port: port ?? undefined } : { path }),
    ...(processId != null && { processId }),
  };
  let isPermitted = false;
  try {
    const opening = (): void => {
      audit.record({ event: 'port.opening', ...wanted });
      isPermitted = true;
    };
    await session.streams.open(params, opening);
    return {};
  } catch (error) {
    if (!isPermitted) counters.denials.port++;
    audit.record({ event: 'port.refused', reason: ExecError.from(error).message, ...wanted });
    throw error;
  }
}
