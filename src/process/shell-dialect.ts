/** How the state of one kind of shell is taken down and brought back. */
export interface ShellDialect {
  /** Prints the state, between two marks, as commands that bring it back. Runs after the start-up files of a login. */
  readonly capture: string;
  /** Starts the shell without start-up files, which would undo what is restored. */
  readonly flag: string;
  /** Undoes what the flag does besides. */
  readonly undo: string;
  /** Leaves out of what was printed what is no command, or none that may be repeated. */
  readonly usable: (state: string) => string;
}

/** How often it is printed. */
export const MARKS = 3;

/** Stands around the state and before the environment; text cannot hold a NUL. */
export const MARK = '\0shell-state\0';

const mark = "printf '\\0%s\\0' shell-state";

const bash: ShellDialect = {
  capture: `[ -r ~/.bashrc ] && . ~/.bashrc >/dev/null 2>&1 </dev/null
builtin ${mark}
builtin alias -p
builtin declare -f
builtin declare -Fx
builtin shopt -p
builtin set +o
builtin ${mark}
command env -0
builtin ${mark}
builtin exit 0`,
  flag: '-pc',
  undo: 'set +o privileged\n',
  usable: (state) => keepLines(state, (line) => !/^shopt -[su] (?:login|restricted)_shell$/.test(line)),
};

const unchangeable =
  /^setopt (?:no)?(?:interactive|login|monitor|privileged|rcs|restricted|shinstdin|singlecommand|zle)$/;

const zsh: ShellDialect = {
  capture: `[[ -r \${ZDOTDIR:-$HOME}/.zshrc ]] && . "\${ZDOTDIR:-$HOME}/.zshrc" >/dev/null 2>&1 </dev/null
builtin ${mark}
builtin alias -L
builtin functions
builtin setopt | while IFS= builtin read -r option; do builtin printf 'setopt %s\\n' "$option"; done
builtin ${mark}
command env -0
builtin ${mark}
builtin exit 0`,
  flag: '-fc',
  undo: 'setopt RCS\n',
  usable: (state) => keepLines(state, (line) => !unchangeable.test(line)),
};

const aliasLine = /^(?:alias )?[^\s='"$`;&|<>()]+='(?:[^']|'\\''|'"'"')*'$/;
const optionLine = /^set [-+]o \w+$/;

const sh: ShellDialect = {
  capture: `[ -n "$ENV" ] && [ -r "$ENV" ] && . "$ENV" >/dev/null 2>&1 </dev/null
${mark}
alias
set +o
${mark}
command env -0
${mark}
exit 0`,
  flag: '-c',
  undo: '',
  // Some print aliases without the word, and over several lines; those that cannot be told apart are given up.
  usable: (state) =>
    keepLines(state, (line) => aliasLine.test(line) || optionLine.test(line)).replace(
      /^(?!alias |set [-+]o )(?=.)/gm,
      'alias ',
    ),
};

export const shellDialects: ReadonlyMap<string, ShellDialect> = new Map(Object.entries({ bash, zsh, sh }));

function keepLines(text: string, keep: (line: string) => boolean): string {
  return text.split('\n').filter(keep).join('\n');
}
