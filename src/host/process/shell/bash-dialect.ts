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

/**
 * In POSIX mode, which an assignment switches on, the special built-ins (`unset`, `trap`, `set`, `exec`) come before functions;
 * a backslash prevents alias expansion, and a subshell DEBUG traps. `call` is the command that calls the others past functions,
 * after a function of its own name has been unset; `other` is the one that can print that function.
 */
const printState = (
  call: 'builtin' | 'command',
  other: 'builtin' | 'command',
  mode: string,
): string => `(${CAPTURE_VARIABLE}=$SHELLOPTS:$BASHOPTS
${mode}
\\trap - DEBUG ERR RETURN
\\set +o xtrace +o verbose +o errexit +o nounset
${CAPTURE_VARIABLE}_FUNCTION=$(\\unset -f ${other}
\\${other} declare -f ${call})
\\unset -f ${call}
\\${call} printf ${printBegin}
\\${call} printf %s "$${CAPTURE_VARIABLE}"
\\${call} printf ${printNext}
\\${call} shopt -p
\\${call} set +o
\\${call} printf ${printNext}
\\${call} alias -p
\\${call} printf ${printNext}
\\${call} declare -f
\\${call} printf ${printNext}
\\${call} printf %s "$${CAPTURE_VARIABLE}_FUNCTION"
\\${call} printf ${printNext}
${printVariables}
\\${call} printf ${printEnd}) 2>/dev/null
`;

const posix = 'POSIXLY_CORRECT=1';

const printStates = `${printState('builtin', 'command', posix)}${printState('command', 'builtin', posix)}${printState('builtin', 'command', '')}`;

export const bash: ShellDialect = {
  // With BASH_ENV the shell has read that file instead of .bashrc. Not in a subshell: Bash 5.2 would exec the last program of
  // the file in place of the subshell.
  startUp: `${CAPTURE_VARIABLE}=\${BASH_ENV:+/dev/null/}\${HOME-}/.bashrc
${readStartUp}
`,
  // The first complete state counts: a start-up file may make a function or POSIXLY_CORRECT readonly.
  print: printStates,
  flag: '-pc',
  undo: 'set +o privileged\n',
  restore: ([switchedOn = '', options = '', aliases = '', functions = '', shadowing = '', variables = '']) => {
    const on = new Set(switchedOn.split(':'));
    const exported = exportedFunctions(variables);
    const stubs = exported.map((name) => `${name} () { :; }\n`).join('');
    return {
      settings: switchOptions(options, on),
      definitions: `${stubs}${exportCommand(exported)}${definitionsOnly(functions)}\n${onlyFunction(shadowing)}\n${assignAliases(aliases)}${on.has('posix') ? 'POSIXLY_CORRECT=y\n' : ''}`,
      variables: on.has('posix') ? variables : variables.replace(/(^|\0)POSIXLY_CORRECT=[^\0]*\0/, '$1'),
    };
  },
};

/** The names of options come from the output, their values from `on`, which the capture saved before it changed any. */
function switchOptions(printed: string, on: ReadonlySet<string>): string {
  const lines = printed.split('\n').flatMap((line) => {
    const [, command, name] = /^(shopt|set) [-+][osu]+ ([\w-]+)$/.exec(line) ?? [];
    if (name === undefined || fixed.has(name)) return [];
    return command === 'set'
      ? `set ${on.has(name) ? '-' : '+'}o ${name}\n`
      : `shopt -${on.has(name) ? 's' : 'u'} ${name}\n`;
  });
  return lines.join('');
}

/** Options that cannot be set, and POSIX mode, in which some functions cannot be defined. */
const fixed: ReadonlySet<string> = new Set(['login_shell', 'restricted_shell', 'privileged', 'posix']);

const exportedFunctions = (variables: string): string[] =>
  variables.split('\0').flatMap((entry) => /^BASH_FUNC_([\w:.+@%,/-]+)%%=/.exec(entry)?.[1] ?? []);

/** Exports functions before they are defined, as a definition may replace the command that exports. They stay exported. */
function exportCommand(names: readonly string[]): string {
  const ways = ['export -f', 'declare -fx', 'typeset -fx', 'builtin declare -fx', 'command declare -fx'];
  const way = ways.find((words) => !words.split(' ').some((word) => names.includes(word)));
  return way && names.length > 0 ? `${way} -- ${names.join(' ')}\n` : '';
}

/** The output of a command that a start-up file may have replaced after all, if it is a function. */
const onlyFunction = (printed: string): string => (/^(?:builtin|command) \(\) *\n\{/.test(printed) ? printed : '');

/** Removes the commands that set attributes of functions, if a function named `declare` would be called instead. */
const definitionsOnly = (functions: string): string =>
  /^declare \(\)/m.test(functions) ? functions.replaceAll(/^\}\ndeclare -f[a-z]* \S+$/gm, '}') : functions;

/** Assigns aliases without a command, which could be replaced. To be run last, as functions are printed with aliases expanded. */
const assignAliases = (printed: string): string =>
  [...printed.matchAll(/^alias (?:-- )?([^\s=]+)=('(?:[^']|'\\'')*')$/gm)]
    .map(([, name, value]) => `BASH_ALIASES[${quoted(name!)}]=${value}\n`)
    .join('');
