/** The known facts about a process, as one value. */
export interface ProcessFacts {
  readonly hasExited: boolean;
  /** Undefined while the process runs, and where the server does not know it. */
  readonly exitCode: number | undefined;
  readonly failureMessage: string | undefined;
  readonly sandboxDenied: boolean;
}

export const running: ProcessFacts = {
  hasExited: false,
  exitCode: undefined,
  failureMessage: undefined,
  sandboxDenied: false,
};

/** The facts after an exit. A code or a denial that is known already stays. */
export function afterExit(facts: ProcessFacts, exitCode: number | undefined, sandboxDenied: boolean): ProcessFacts {
  if (facts.failureMessage !== undefined) return facts;
  return {
    ...facts,
    hasExited: true,
    exitCode: facts.exitCode ?? exitCode,
    sandboxDenied: facts.sandboxDenied || sandboxDenied,
  };
}

/** The facts after a failure. The first one is final. */
export function afterFailure(facts: ProcessFacts, message: string): ProcessFacts {
  return facts.failureMessage === undefined ? { ...facts, hasExited: true, failureMessage: message } : facts;
}
