import { Scope } from '../base/index.ts';
import {
  checkNetwork,
  type ManagedProcess,
  managedNetworkOf,
  type Preparations,
  processRequests,
} from '../host/process/index.ts';
import { ExecError, type Params, type Result } from '../protocol/index.ts';
import { DeferredResult, EncodedResult } from '../rpc/index.ts';
import type { Handlers, RequestContext } from './handlers.ts';
import { launchNetwork } from './network-launch.ts';
import { releaseAfter } from './payload.ts';
import { requireScope } from './required-scope.ts';
import type { ServerSession } from './session.ts';
import { requireProcessRoom } from './token-room.ts';

/** Handlers of the requests about one process, whose id must be known. */
const answeredByProcess: Handlers = Object.fromEntries(
  Object.entries(processRequests).map(([method, answer]) => [
    method,
    (params: { readonly processId: string }, { session, signal }: RequestContext) =>
      answer(requireProcess(session, params.processId), params as never, signal),
  ]),
);

export const processHandlers: Handlers = {
  ...answeredByProcess,

  'process/start': (params, context) => {
    checkNetwork(params);
    return needsPreparation(params) ? startPrepared(params, context) : startNow(params, context);
  },

  'process/read': async (params, { session, signal }) => {
    const { view } = requireProcess(session, params.processId);
    await view.readable(params, signal);
    return new DeferredResult(() => {
      const { parts, delivered } = view.read(params);
      return new EncodedResult(parts, { onDelivered: delivered });
    });
  },

  'process/write': ({ processId, writeId, chunk }, { session }) =>
    releaseAfter(
      chunk,
      session.processes.get(processId)?.write(writeId ?? undefined, chunk) ?? { status: 'unknownProcess' },
    ),

  'process/closeStdin': ({ processId }, { session }) =>
    session.processes.get(processId)?.closeStdin() ?? { status: 'unknownProcess' },

  'process/signal': ({ processId, signal }, { session }) => {
    session.processes.get(processId)?.signal(signal);
    return {};
  },

  'process/terminate': (params, { session }) => ({ running: session.processes.terminate(params) }),

  'process/list': (params, { session, sessions, grant }) => {
    if (!params?.all) return { processes: session.processes.list() };
    requireScope(grant, 'admin', 'process/list of all sessions');
    return { processes: [...sessions].flatMap(listWithSession) };
  },
};

function listWithSession({ id, tokenName, processes }: ServerSession): Result<'process/list'>['processes'] {
  const owner = { sessionId: id, ...(tokenName !== undefined && { tokenName }) };
  return processes.list().map((process) => ({ ...process, ...owner }));
}

type StartParams = Params<'process/start'>;

/** Starts the process, which then owns its network. False for the repetition of a start that was answered before. */
function start(params: StartParams, { session, grant }: RequestContext, prepared: Preparations = {}): boolean {
  const { processId } = params;
  try {
    const requireRoom = (): void => requireProcessRoom(grant, () => session.processesOfToken);
    return session.processes.start(params, { ...prepared, requireRoom });
  } catch (error) {
    // A start refused because the id is taken says nothing about the process that has it.
    if (!session.processes.get(processId)) {
      session.notifyIfWanted('process/failed', { processId, message: ExecError.from(error).message });
    }
    throw error;
  }
}

function answerStart(params: StartParams, { session }: RequestContext): Result<'process/start'> {
  const { processId } = params;
  const { pid, startedAtMs, limitsEnforcedBy } = requireProcess(session, processId);
  session.notifyIfWanted('process/started', { processId, startedAtMs });
  return {
    processId,
    sandboxType: params.sandbox ? 'linuxSeccomp' : 'none',
    pid,
    ...(limitsEnforcedBy && { limitsEnforcedBy }),
  };
}

function startNow(params: StartParams, context: RequestContext): Result<'process/start'> {
  start(params, context);
  return answerStart(params, context);
}

const needsPreparation = (params: StartParams): boolean =>
  Boolean(params.shellSnapshot || params.network === 'loopback' || managedNetworkOf(params)) || deniesByPattern(params);

/** Starts the network, restores the state of the shell and searches for denied paths; then starts the process that uses them. */
async function startPrepared(params: StartParams, context: RequestContext): Promise<Result<'process/start'>> {
  const { session, signal } = context;
  const { processId } = params;
  const settings = managedNetworkOf(params);
  using preparing = session.processes.prepare(processId);
  await using prepared = new Scope();
  const network = settings ? prepared.own(await launchNetwork(context, processId, settings)) : undefined;
  const restored = params.shellSnapshot ? await session.processes.restoreShell(params, network) : undefined;
  const deniedMatches = deniesByPattern(params) ? await session.processes.findDenied(params, network) : undefined;
  const sessionNetwork = params.network === 'loopback' ? await session.network.namespace() : undefined;
  if (signal.aborted || preparing.isCancelled)
    throw new ExecError('invalidRequest', `process ${processId} start was cancelled`);
  if (start(params, context, { network, sessionNetwork, restored, deniedMatches })) prepared.move();
  return answerStart(params, context);
}

/** Whether the sandbox denies paths by patterns, for which the disk has to be searched. */
function deniesByPattern({ sandbox }: StartParams): boolean {
  const files = sandbox?.permissions.type === 'managed' ? sandbox.permissions.file_system : undefined;
  return files?.type === 'restricted' && files.entries.some(({ path }) => path.type === 'glob_pattern');
}

function requireProcess(session: ServerSession, processId: string): ManagedProcess {
  const process = session.processes.get(processId);
  if (!process) throw new ExecError('invalidRequest', `unknown process id ${processId}`);
  return process;
}
