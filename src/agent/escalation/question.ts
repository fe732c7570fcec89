import { type Shown, shownText, shownWord, shownWords } from '../rules/index.ts';

/** A question to the user, and the possible answers. */
export interface EscalationQuestion {
  readonly message: string;
}

export interface Reply {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Why, in the user's words. */
  readonly reason?: string | undefined;
}

/** Puts a question to the user; throws when that cannot be done. */
export type Ask = (question: EscalationQuestion, signal: AbortSignal) => Promise<Reply>;

export interface QuestionFacts {
  readonly path: Shown;
  readonly args: readonly Shown[];
  readonly workdir: Shown;
  /** The directory that leads to, if it can be told. */
  readonly realWorkdir: string | undefined;
  /** The file that would be executed, if it can be told. */
  readonly real: string | undefined;
  readonly justification: string | undefined;
  readonly outside: boolean;
  /** Variables that are not passed on as the caller has them. */
  readonly changed: readonly string[];
}

/** The first line is the one clients know; what else there is to say follows. */
export function question(facts: QuestionFacts): EscalationQuestion {
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
