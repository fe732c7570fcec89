import type { LogFields } from './logger.ts';

/** How many causes of a cause are followed: an error can be its own. */
const DEEPEST_CAUSE = 8;

/** The log fields of an error: its message, its stack, and the stacks of its causes. */
export function faultFields(fault: unknown): LogFields {
  if (!(fault instanceof Error)) return { error: String(fault) };
  const causes = causesOf(fault).map(stackOf);
  return {
    error: fault.message,
    stack: fault.stack,
    ...(causes.length > 0 && { cause: causes.join('\ncaused by: ') }),
  };
}

function causesOf(error: Error): unknown[] {
  const causes: unknown[] = [];
  let { cause } = error;
  while (cause !== undefined && causes.length < DEEPEST_CAUSE) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

const stackOf = (cause: unknown): string => (cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
