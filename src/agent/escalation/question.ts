import { type Shown, shownText, shownWord, shownWords } from '../rules/index.ts';

/** Asks the user whether a program may run. */
export interface EscalationQuestion {
  readonly message: string;
}

export interface EscalationReply {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The user's reason, in their words. */
  readonly reason?: string | undefined;
}

/** Asks the user; throws when that is impossible. */
export type AskEscalation = (question: EscalationQuestion, signal: AbortSignal) => Promise<EscalationReply>;

export interface EscalationFacts {
  readonly path: Shown;
  readonly args: readonly Shown[];
  readonly workdir: Shown;
  /** The directory without symbolic links; undefined when it cannot be resolved. */
  readonly realWorkdir: string | undefined;
  /** The file that would be executed, without symbolic links; undefined when it cannot be resolved. */
  readonly real: string | undefined;
  readonly justification: string | undefined;
  readonly outside: boolean;
  /** Names of the variables that are not passed on as the caller has them. */
  readonly changed: readonly string[];
}

/** Words a question. Its first line is the one that clients of the reference know; our own facts follow. */
export function escalationQuestion(facts: EscalationFacts): EscalationQuestion {
  const { path, args, workdir, realWorkdir, real, justification, outside, changed } = facts;
  const folder = shownWord(workdir);
  const lines = [`Allow agent to run \`${shownWords([path, ...args])}\` in \`${folder}\`?`];
  if (justification !== undefined) lines.push(shownText(justification));
  if (real !== undefined && shownWord(real) !== shownWord(path)) lines.push(`Program: ${shownWord(real)}`);
  if (outside && realWorkdir !== undefined && shownWord(realWorkdir) !== folder) {
    lines.push(`Directory: ${shownWord(realWorkdir)}`);
  }
  if (outside) lines.push('It runs outside the sandbox.');
  if (outside && changed.length > 0) lines.push(`Variables held back: ${changed.map(shownWord).join(', ')}`);
  return { message: lines.join('\n') };
}
