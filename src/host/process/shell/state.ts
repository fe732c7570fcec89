/** How one kind of shell prints its state, and restores it. */
export interface ShellDialect {
  /** Reads the start-up file of interactive shells, which a login shell with a command does not read. */
  readonly startUp: string;
  /**
   * Prints the state as parts between marks. It runs after the start-up files of a login, which may have replaced every command
   * by a function or an alias, so it uses only what they cannot replace: assignments, expansions, special built-ins with a
   * backslash, and programs called by their path.
   */
  readonly print: string;
  /** Starts the shell without start-up files, which would undo the restored state. */
  readonly flag: string;
  /** Undoes the other effects of the flag. */
  readonly undo: string;
  /** The commands that restore a printed state. */
  readonly restore: (parts: readonly string[]) => Restoration;
}

export interface Restoration {
  /** Sets options. Runs before the definitions. */
  readonly settings: string;
  /** Definitions and assignments only, because the definitions may replace any command. Runs after the settings. */
  readonly definitions: string;
  /** The exported variables, as `env -0` prints them. */
  readonly variables: string;
}

/** The prefix of the variables that a capture uses itself. */
export const CAPTURE_VARIABLE = 'EXEC_SERVER_CAPTURE';

export const BEGIN = '\0shell-state begin\0';
export const NEXT = '\0shell-state next\0';
export const END = '\0shell-state end\0';

/** The arguments of `printf` that print a mark. */
export const printBegin = "'\\0%s\\0' 'shell-state begin'";
export const printNext = "'\\0%s\\0' 'shell-state next'";
export const printEnd = "'\\0%s\\0' 'shell-state end'";

/** Reads the start-up file that the capture variable names, if it is readable: in POSIX mode `.` ends the shell otherwise. */
export const readStartUp = `(${CAPTURE_VARIABLE}=) 2>/dev/null <"$${CAPTURE_VARIABLE}" && \\. "$${CAPTURE_VARIABLE}" >/dev/null 2>&1 </dev/null || ${CAPTURE_VARIABLE}=`;

/** Prints the exported variables: `exec` calls no function, and a path is not searched for. */
export const printVariables = '(\\exec /usr/bin/env -0)';

/** A text as one word of any shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
