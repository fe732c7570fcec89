import type { ManagedProcess } from '../process/index.ts';
import { ExecError } from '../protocol/index.ts';
import { EncodedResult } from '../rpc/index.ts';
import type { Handlers } from './handlers.ts';
import type { Session } from './session.ts';

export const processHandlers: Handlers = {
  'process/start': (params, { session, log }) => {
    const { processId } = params;
    try {
      session.processes.start(params);
    } catch (error) {
      // A start refused because the id is taken says nothing about the process that has it.
      if (!session.processes.get(processId)) {
        session.notifyIfWanted('process/failed', { processId, message: ExecError.from(error).message });
      }
      throw error;
    }
    log.debug('process.started', { processId });
    session.notifyIfWanted('process/started', { processId, startedAtMs: known(session, processId).startedAtMs });
    return { processId, sandboxType: params.sandbox ? 'linuxSeccomp' : 'none' };
  },

  'process/read': async (params, { session, signal }) => {
    const { parts, delivered } = await known(session, params.processId).read(params, signal);
    return new EncodedResult(parts, delivered);
  },

  'process/write': ({ processId, writeId, chunk }, { session }) =>
    session.processes.get(processId)?.write(writeId ?? undefined, chunk) ?? { status: 'unknownProcess' },

  'process/closeStdin': ({ processId }, { session }) =>
    session.processes.get(processId)?.closeStdin() ?? { status: 'unknownProcess' },

  'process/signal': ({ processId, signal }, { session }) => {
    session.processes.get(processId)?.signal(signal);
    return {};
  },

  'process/terminate': ({ processId, mode }, { session }) => ({
    running: session.processes.get(processId)?.terminate(mode) ?? false,
  }),

  'process/resize': ({ processId, rows, cols }, { session }) => {
    known(session, processId).resize(rows, cols);
    return {};
  },

  'process/wait': (params, { session, signal }) => known(session, params.processId).wait(params, signal),

  'process/snapshot': ({ processId }, { session }) => known(session, processId).snapshot(),

  'process/list': (_params, { session }) => ({ processes: session.processes.list() }),
};

function known(session: Session, processId: string): ManagedProcess {
  const process = session.processes.get(processId);
  if (!process) throw new ExecError('invalidRequest', `unknown process id ${processId}`);
  return process;
}
