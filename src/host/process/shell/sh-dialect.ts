import {
  CAPTURE_VARIABLE,
  printBegin,
  printEnd,
  printNext,
  printVariables,
  readStartUp,
  type ShellDialect,
} from './state.ts';

const aliasLine = /^(?:alias )?[^\s='"$`;&|<>()]+='(?:[^']|'\\''|'"'"')*'$/;
const optionLine = /^set [-+]o \w+$/;

export const sh: ShellDialect = {
  startUp: `${CAPTURE_VARIABLE}=\${ENV-}
${readStartUp}
`,
  // Special built-ins come before functions; functions named like the other commands are unset, and not part of the state.
  print: `(\\unset -f alias printf
\\printf ${printBegin}
\\set +o
\\printf ${printNext}
\\set +e
\\alias
\\printf ${printNext}
${printVariables}
\\printf ${printEnd}) 2>/dev/null
`,
  flag: '-c',
  undo: '',
  // Some shells print aliases without the word `alias`, and over several lines; those lines are left out.
  restore: ([options = '', aliases = '', variables = '']) => ({
    settings: `${linesOf(options, optionLine).join('')}${linesOf(aliases, aliasLine)
      .map((line) => line.replace(/^(?:alias )?/, '\\alias '))
      .join('')}`,
    definitions: '',
    variables,
  }),
};

const linesOf = (text: string, wanted: RegExp): string[] =>
  text
    .split('\n')
    .filter((line) => wanted.test(line))
    .map((line) => `${line}\n`);
