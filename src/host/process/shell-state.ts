/** How one kind of shell prints its state and gets it back. */
export interface ShellDialect {
  /** Reads the start-up file of terminals, which a login that runs a command passes over. */
  readonly startUp: string;
  /**
   * Prints the state as marked parts. It runs after the start-up files of a login, which may have replaced every command
   * by a function or an alias, so it is made of what they cannot replace: assignments, expansions, quoted names of
   * commands that come before functions, and programs called by their path.
   */
  readonly print: string;
  /** Starts the shell without start-up files, which would undo the restored state. */
  readonly flag: string;
  /** Undoes what the flag does besides. */
  readonly undo: string;
  /** The commands that restore what was printed. */
  readonly restore: (parts: readonly string[]) => Restoration;
}

export interface Restoration {
  /** Options; runs in a shell in which nothing is redefined yet. */
  readonly settings: string;
  /** Runs after the settings. Only definitions and assignments: it redefines commands on the way. */
  readonly definitions: string;
  /** The exported variables, as `env -0` prints them. */
  readonly variables: string;
}

/** The variables that captures use themselves. */
export const CAPTURE_VARIABLE = 'EXEC_SERVER_CAPTURE';

export const BEGIN = '\0shell-state begin\0';
export const NEXT = '\0shell-state next\0';
export const END = '\0shell-state end\0';

/** The arguments of `printf` that print a mark. */
export const printBegin = "'\\0%s\\0' 'shell-state begin'";
export const printNext = "'\\0%s\\0' 'shell-state next'";
export const printEnd = "'\\0%s\\0' 'shell-state end'";

/** Reads the start-up file that the capture variable names, if it can be read. In POSIX mode `.` ends the shell when it cannot. */
export const readStartUp = `(${CAPTURE_VARIABLE}=) 2>/dev/null <"$${CAPTURE_VARIABLE}" && \\. "$${CAPTURE_VARIABLE}" >/dev/null 2>&1 </dev/null || ${CAPTURE_VARIABLE}=`;

/** Prints the exported variables: `exec` takes no function, and the path no search. */
export const printVariables = '(\\exec /usr/bin/env -0)';

/** A text as one word of any shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
