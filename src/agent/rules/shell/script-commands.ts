/** Words that a command can follow. */
const LEADING = new Set('if then else elif while until do ! { } time case in'.split(' '));
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;

/**
 * Every command that a script might run, also in control flow, subshells and substitutions. Text that only looks like a command,
 * as in a here-document, is taken for one, so that none is missed.
 */
export function commandsIn(script: string): string[][] {
  const scan = new ScriptScan();
  const pieces =
    /'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|\$?\(|[`();&|\n]|[<>]+&?|(?<![^\s;&|()])#[^\n]*|[ \t\r]+|[^'"\\$`();&|\s<>]+|[\s\S]/g;
  for (const [piece] of script.matchAll(pieces)) scan.piece(piece);
  scan.endCommand();
  return scan.commands.map(bare).filter((command) => command.length > 0);
}

/** A command without the words and assignments before its name. */
function bare(command: readonly string[]): string[] {
  const start = command.findIndex((word) => !LEADING.has(word) && !ASSIGNMENT.test(word));
  return start < 0 ? [] : command.slice(start);
}

class ScriptScan {
  readonly commands: string[][] = [];
  #words: string[] = [];
  #word: string | undefined;
  #isRedirected = false;

  piece(piece: string): void {
    if (/^[ \t\r]+$/.test(piece)) this.#endWord();
    else if (/^(?:\$?\(|[`();&|\n])$/.test(piece)) this.endCommand();
    else if (/^[<>]/.test(piece)) this.#redirect();
    else if (piece.startsWith('#')) return;
    else if (piece.startsWith('"') && piece.length > 1) this.#quoted(piece.slice(1, -1));
    else if (piece.startsWith("'") && piece.length > 1) this.#add(piece.slice(1, -1));
    else this.#add(piece.startsWith('\\') ? piece.slice(1).replace('\n', '') : piece);
  }

  endCommand(): void {
    this.#endWord();
    this.#isRedirected = false;
    if (this.#words.length > 0) this.commands.push(this.#words);
    this.#words = [];
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text;
  }

  /** Adds text in double quotes, whose command substitutions the shell runs. */
  #quoted(text: string): void {
    this.#add(text.replace(/\\(["\\$`])/g, '$1'));
    for (const [, inner] of text.matchAll(/(?:\$\(|`)([\s\S]*)/g)) this.commands.push(...commandsIn(inner!));
  }

  /** Begins a redirection: neither its file nor a number before it is a word of the command. */
  #redirect(): void {
    if (/^\d+$/.test(this.#word ?? '')) this.#word = undefined;
    this.#endWord();
    this.#isRedirected = true;
  }

  #endWord(): void {
    if (this.#word === undefined) return;
    if (!this.#isRedirected) this.#words.push(this.#word);
    this.#isRedirected = false;
    this.#word = undefined;
  }
}
