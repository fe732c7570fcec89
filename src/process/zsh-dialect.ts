import {
  CAPTURE_VARIABLE,
  printBegin,
  printEnd,
  printNext,
  printVariables,
  quoted,
  readStartUp,
  type ShellDialect,
} from './shell-state.ts';

const tables = ['options', 'functions', 'aliases', 'galiases', 'saliases'] as const;

/** Options that belong to one run of a shell, or cannot be set. */
const fixed: ReadonlySet<string> = new Set(
  'exec interactive login monitor privileged rcs restricted shinstdin singlecommand zle'.split(' '),
);

export const zsh: ShellDialect = {
  // Functions, aliases and options are tables here, and a function in the table of the disabled ones is not called.
  capture: `${CAPTURE_VARIABLE}=\${ZDOTDIR:-\${HOME-}}/.zshrc
${readStartUp}
(${tables.map((table) => `${CAPTURE_VARIABLE}_${table}=("\${(@kv)${table}[@]}")`).join('\n')}
dis_functions=(builtin : exec :)
\\builtin trap - DEBUG ZERR
\\builtin unsetopt xtrace verbose errexit
\\builtin printf ${printBegin}
${tables.map((table) => `\\builtin printf '%s\\0' "\${${CAPTURE_VARIABLE}_${table}[@]}"\n\\builtin printf ${printNext}`).join('\n')}
${printVariables}
\\builtin printf ${printEnd}) 2>/dev/null
`,
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
