import { faultFields, type Logger } from '../base/index.ts';

export interface FaultHandling extends Disposable {
  /** Whether a fault was the reason to stop, so that the exit code can say so. */
  readonly isFatal: boolean;
}

/**
 * Handles errors that no other code has caught. Requests, connections and processes catch their own; the others are
 *
 * - a rejected promise that is not awaited, or an error of a descriptor without a listener: the failure of one piece of work. It is
 *   logged and serving goes on.
 * - any other exception: a callback was left half-way, so the state is unknown. The server stops in order: processes are asked to
 *   end and clients are told. A stop that takes too long is cut short.
 */
export function handleFaults(log: Logger, stop: AbortController): FaultHandling {
  let isFatal = false;
  const onRejection = (reason: unknown): void => log.error('fault.confined', faultFields(reason));
  const onException = (error: unknown): void => {
    if (isSystemError(error)) {
      log.error('fault.confined', faultFields(error));
      return;
    }
    log.error('fault.fatal', faultFields(error));
    isFatal = true;
    stop.abort();
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
  };
  // A closed reader of stdout or stderr does not stop the server.
  const onPipeError = (): void => {};
  process.on('unhandledRejection', onRejection);
  process.on('uncaughtException', onException);
  process.stdout.on('error', onPipeError);
  process.stderr.on('error', onPipeError);
  return {
    get isFatal() {
      return isFatal;
    },
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', onRejection);
      process.off('uncaughtException', onException);
      process.stdout.off('error', onPipeError);
      process.stderr.off('error', onPipeError);
    },
  };
}

/** An error that the system gave for one descriptor, such as ECONNRESET. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** Longer than any grace period that an operator is likely to choose. */
const STOP_LIMIT_MS = 30_000;
