import type { ComparedProcess } from './compared-process.ts';

type Result = Record<string, unknown>;

/** A result without what may differ from run to run, and without members that only our server sends. */
export function normalised(method: string, result: Result, process: ComparedProcess | undefined): unknown {
  switch (method) {
    case 'fs/getMetadata':
      return { ...result, createdAtMs: 0, modifiedAtMs: 0 };
    case 'fs/readDirectory':
      return sorted(result.entries, 'fileName');
    case 'fs/walk':
      return { ...result, errors: sorted(result.errors, 'path') };
    case 'process/start':
      return normalisedStart(result);
    case 'process/read':
      return normalisedRead(result, process);
    case 'environment/info':
      return normalisedInfo(result);
    default:
      return result;
  }
}

function normalisedStart({ pid: _pid, ...shared }: Result): unknown {
  return shared;
}

/** Of processes that print more than once only what does not depend on how the output was cut into chunks. */
function normalisedRead(result: Result, process: ComparedProcess | undefined): unknown {
  const { truncated: _truncated, oldestSeq: _oldestSeq, signal: _signal, timedOut: _timedOut, ...shared } = result;
  if (process?.isExact) return shared;
  const { chunks: _chunks, nextSeq: _nextSeq, ...rest } = shared;
  return rest;
}

function normalisedInfo({
  executorVersion: _version,
  providerId: _id,
  prependPathDirs: _dirs,
  ...info
}: Result): unknown {
  const own =
    /^process|^sandboxDenials$|^cwdIdentity$|^fs(Rename|Links|Chmod|Append|Watch|Search)$|^errorDetails$|^(netStreams|sessionNetwork)$/;
  const shared = Object.entries(info.capabilities as object).filter(([name]) => !own.test(name));
  return { ...info, capabilities: Object.fromEntries(shared.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

const sorted = (list: unknown, key: string): unknown[] =>
  [...(list as Record<string, string>[])].sort((a, b) => (a[key]! < b[key]! ? -1 : 1));
