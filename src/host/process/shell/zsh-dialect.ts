import {
  CAPTURE_VARIABLE,
  printBegin,
  printEnd,
  printNext,
  printVariables,
  quoted,
  readStartUp,
  type ShellDialect,
} from './state.ts';

const tables = ['options', 'functions', 'aliases', 'galiases', 'saliases'] as const;

/** Options that belong to one run of a shell, or cannot be set. */
const fixed: ReadonlySet<string> = new Set(
  'exec interactive login monitor privileged rcs restricted shinstdin singlecommand zle'.split(' '),
);

/** The commands that print a state, and those that make them available. */
const needed = 'builtin enable exec printf trap unset unsetopt zmodload';

/** Disables functions named like the commands: zsh does not call a function in the table of disabled ones. */
const freeCommands = `dis_functions=(${needed.replaceAll(/\w+/g, '$& :')})`;

/** Makes tables again that were unset: their contents are not lost. */
const remakeTables = `\\enable ${needed}
\\builtin unset ${tables.join(' ')} dis_functions
\\builtin zmodload -F zsh/parameter ${tables.map((table) => `-p:${table}`).join(' ')} -p:dis_functions
\\builtin zmodload -F zsh/parameter ${tables.map((table) => `+p:${table}`).join(' ')} +p:dis_functions
`;

/** Zsh shows functions, aliases and options as tables. A variable with the name of a table is an error that ends the subshell. */
const printState = (prepare: string, free: string): string => `(${prepare}${tables
  .map(
    (table) =>
      `${CAPTURE_VARIABLE}=\${\${(M)\${(t)${table}}:#association*}:?}\n${CAPTURE_VARIABLE}_${table}=("\${(@kv)${table}[@]}")`,
  )
  .join('\n')}
${free}
\\enable ${needed}
\\builtin trap - DEBUG ZERR
\\builtin unsetopt xtrace verbose errexit
\\builtin printf ${printBegin}
${tables.map((table) => `\\builtin printf '%s\\0' "\${${CAPTURE_VARIABLE}_${table}[@]}"\n\\builtin printf ${printNext}`).join('\n')}
${printVariables}
\\builtin printf ${printEnd}) 2>/dev/null
`;

export const zsh: ShellDialect = {
  startUp: `${CAPTURE_VARIABLE}=\${ZDOTDIR:-\${HOME-}}/.zshrc
${readStartUp}
`,
  // The first complete state counts: a start-up file may make the tables readonly, or unset them.
  print: `${printState('', freeCommands)}${printState('', '')}${printState(remakeTables, freeCommands)}`,
  flag: '-fc',
  undo: 'setopt RCS\n',
  restore: (parts) => {
    const options = pairs(parts[0]).filter(([name]) => !fixed.has(name));
    return {
      settings: assign('options', options),
      definitions: tables
        .slice(1)
        .map((table, index) => assign(table, pairs(parts[index + 1])))
        .join(''),
      variables: parts[tables.length] ?? '',
    };
  },
};

function pairs(list = ''): [string, string][] {
  const items = list.split('\0');
  return Array.from({ length: Math.floor(items.length / 2) }, (_, index) => [items[2 * index]!, items[2 * index + 1]!]);
}

const assign = (table: string, entries: readonly [string, string][]): string =>
  entries.length === 0 ? '' : `${table}=(${entries.map((pair) => pair.map(quoted).join(' ')).join('\n')})\n`;
