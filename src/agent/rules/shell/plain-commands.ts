import { basename } from 'node:path';

const SHELLS = ['bash', 'zsh', 'sh'];
const SCRIPT_FLAGS = ['-c', '-lc'];

/** Reserved words and builtins that a simple command cannot begin with. */
const RESERVED = new Set(
  (
    'if then else elif fi for select while until do done case esac in function coproc ' +
    'declare typeset export readonly local unset unsetenv'
  ).split(' '),
);

const BLANKS = /[ \t]+/y;
const SEPARATOR = /&&|\|\||[;|\n]/y;
/** Characters that a shell neither expands (zsh: a leading `=`) nor takes for quotes. */
const BARE = /(?!=)[^\s'"`$\\{}*?[\]~^#&|;<>()]+/y;
const SINGLE_QUOTED = /'([^']*)'/y;
/** Assignments, negations and job numbers, which are not names of programs. */
const NOT_A_PROGRAM = /[=!%@]|^-|^\d+$/;
/** Double quotes without expansions, and without a backslash that the shell would remove. */
const DOUBLE_QUOTED = /"((?:[^"\\$`]|\\[^"\\$`\n])*)"/y;

/**
 * The commands that a shell would run for `[shell, "-c" | "-lc", script]`, if the script has only simple commands with literal
 * words, joined by `&&`, `||`, `;`, `|` or newlines. Undefined otherwise: then only the whole command can be judged.
 */
export function plainCommands(argv: readonly string[]): string[][] | undefined {
  const [shell, flag, script] = argv;
  if (argv.length !== 3 || !SHELLS.includes(basename(shell!)) || !SCRIPT_FLAGS.includes(flag!)) return undefined;
  return splitScript(script!);
}

function splitScript(script: string): string[][] | undefined {
  const commands: string[][] = [];
  const scanner = new Scanner(script);
  scanner.skipBlankLines();
  while (!scanner.isAtEnd) {
    const command = scanner.command();
    if (command === undefined) return undefined;
    commands.push(command);
    const separator = scanner.take(SEPARATOR);
    if (separator === undefined && !scanner.isAtEnd) return undefined;
    scanner.skipBlankLines();
    const wantsMore = separator === '&&' || separator === '||' || separator === '|';
    if (wantsMore && scanner.isAtEnd) return undefined;
  }
  return commands.length === 0 ? undefined : commands;
}

class Scanner {
  readonly #script: string;
  #at = 0;

  constructor(script: string) {
    this.#script = script;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#script.length;
  }

  skipBlankLines(): void {
    this.take(/[ \t\n]+/y);
  }

  take(pattern: RegExp): string | undefined {
    return this.#match(pattern)?.[0];
  }

  /** The words up to the next separator; the first one is unquoted, and neither an assignment nor reserved. */
  command(): string[] | undefined {
    const name = this.take(BARE);
    if (name === undefined || RESERVED.has(name) || NOT_A_PROGRAM.test(name)) return undefined;
    const words = [name];
    while (this.take(BLANKS) !== undefined) {
      if (this.isAtEnd || this.#isAtSeparator()) return words;
      const word = this.#word();
      if (word === undefined) return undefined;
      words.push(word);
    }
    return words;
  }

  #word(): string | undefined {
    let word: string | undefined;
    for (let piece = this.#piece(); piece !== undefined; piece = this.#piece()) word = (word ?? '') + piece;
    return word;
  }

  #piece(): string | undefined {
    return this.take(BARE) ?? (this.#match(SINGLE_QUOTED) ?? this.#match(DOUBLE_QUOTED))?.[1];
  }

  #isAtSeparator(): boolean {
    const at = this.#at;
    const found = this.take(SEPARATOR) !== undefined;
    this.#at = at;
    return found;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#script);
    if (found) this.#at += found[0].length;
    return found;
  }
}
