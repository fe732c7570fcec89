import { faultFields, type Logger } from '../base/index.ts';

export interface FaultHandling extends Disposable {
  /** Whether a fault was the reason to stop, so that the exit code can say so. */
  readonly isFatal: boolean;
}

/**
 * Handles what no other code has caught. Requests, connections and processes catch their own errors; what slips past them is
 *
 * - a rejected promise that is not awaited, or an error of a descriptor without a listener: the failure of one piece of work. It is
 *   logged and serving goes on.
 * - any other exception: the callback was left half-way, and what it leaves behind is unknown. The server stops in order:
 *   processes are asked to end and clients are told. A stop that does not come to its end is cut short.
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
  // A reader of our log or our address that is gone takes nothing with it.
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

/** Longer than the grace of processes that an operator would choose, and not for ever. */
const STOP_LIMIT_MS = 30_000;
