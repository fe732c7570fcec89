import { joinWords } from '../rules/index.ts';

/** What the user is asked, and may answer. */
export interface Question {
  readonly message: string;
}

export interface Reply {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Why, in the user's words. */
  readonly reason?: string | undefined;
}

/** Puts a question to the user; throws when that cannot be done. */
export type Ask = (question: Question, signal: AbortSignal) => Promise<Reply>;

export interface QuestionFacts {
  readonly path: string;
  readonly args: readonly string[];
  readonly workdir: string;
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
export function question(facts: QuestionFacts): Question {
  const { path, args, workdir, realWorkdir, real, justification, outside, changed } = facts;
  const command = joinWords([path, ...args]);
  const lines = [`Allow agent to run \`${visible(command)}\` in \`${visible(workdir)}\`?`];
  if (justification !== undefined) lines.push(visible(justification));
  if (real !== undefined && real !== path) lines.push(`Program: ${visible(real)}`);
  if (outside && realWorkdir !== undefined && realWorkdir !== workdir) lines.push(`Directory: ${visible(realWorkdir)}`);
  if (outside) lines.push('It runs outside the sandbox.');
  if (outside && changed.length > 0) lines.push(`Variables held back: ${visible(changed.join(', '))}`);
  return { message: lines.join('\n') };
}

/** Nothing that a command says of itself may look like a line of ours. */
function visible(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Control characters, those that reorder or hide text, and blanks that are no space. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]|[^\S ]/gu;
