/** Start-up files after which a shell does not go on, or says nothing that could be heard. */
export const endingShells: Readonly<Record<string, string>> = {
  'an exit': 'exit 41',
  'another program in its place': 'exec /bin/true',
  'a program in its place that does not exist': 'exec /nowhere/program',
  'an error that ends it': 'set -e; /bin/false',
  'a signal': 'kill -9 $$',
  'commands that are read, not run': 'set -n',
  'a variable that is not set': 'set -u; X=$nowhere',
  'no output': 'exec >/dev/null 2>&1',
  'closed descriptors': 'exec >&- 2>&-',
  'an EXIT trap that ends it': "trap 'exit 41' EXIT; exit 41",
};

/** Start-up files that redefine what a shell is made of. Each leaves the shell alive. */
export const hostileBash: Readonly<Record<string, string>> = {
  'functions named unset and builtin': 'unset() { exit 41; }\nbuiltin() { :; }',
  'functions named after every command that prints or sets state':
    'command() { exit 41; }; declare() { exit 41; }; typeset() { exit 41; }; alias() { exit 41; }; shopt() { exit 41; }; export() { exit 41; }; printf() { exit 41; }; echo() { exit 41; }; exit() { return; }; trap() { exit 41; }; env() { exit 41; }; exec() { exit 41; }; test() { exit 41; }; [() { exit 41; }; :() { exit 41; }; .() { exit 41; }; eval() { exit 41; }; return() { exit 41; }; unset() { exit 41; }; builtin() { exit 41; }; set() { exit 41; }',
  'exported functions of the same names':
    'set() { exit 41; }; builtin() { exit 41; }; export -f set builtin; shopt() { exit 41; }; declare() { exit 41; }; export -f shopt declare; export() { exit 41; }; command export -f export 2>/dev/null',
  'a readonly function named builtin': 'builtin() { exit 41; }; readonly -f builtin',
  'a readonly function named command': 'command() { exit 41; }; readonly -f command',
  'a readonly variable POSIXLY_CORRECT': 'readonly POSIXLY_CORRECT',
  'aliases of commands and keywords':
    'shopt -s expand_aliases; alias builtin="exit 41" command="exit 41" declare="exit 41" printf="exit 41" unset="exit 41" trap="exit 41" exec="exit 41" set="exit 41" if="exit 41" for="exit 41" eval="exit 41" .="exit 41"',
  'an alias of every keyword that a group begins with':
    "shopt -s expand_aliases; alias '{'='exit 41' '[['='exit 41' case='exit 41' while='exit 41' '!'='exit 41' function='exit 41'",
  'commands switched off': 'enable -n unset builtin printf',
  'a DEBUG trap that ends the shell': "trap 'exit 41' DEBUG",
  'a DEBUG trap that prints, inherited by subshells': "set -T; trap '/bin/echo debugging' DEBUG",
  'an EXIT trap that prints': "trap '/bin/echo leaving' EXIT",
  'an ERR trap and errexit': "set -eE; trap 'exit 41' ERR",
  'tracing to the standard output': 'BASH_XTRACEFD=1; set -x',
  'unset variables as errors, no globs, keyword arguments': 'set -u; set -f; set -k',
  'another IFS, PATH and locale': 'IFS=aeiou/; export PATH=/nowhere; LC_ALL=C',
  'every variable exported': 'set -a',
  'an exported variable that names no program': 'export BASH_ENV=/nowhere ENV=/nowhere SHELL=/nowhere',
  'a function with a slash in its name':
    'function /usr/bin/env { exit 41; }; export -f /usr/bin/env 2>/dev/null; function [ { exit 41; }',
  'POSIX mode': 'set -o posix',
  'a program at the end of a line, at the end of the file': 'cd .; /bin/true',
  'a program at the end that reads': 'read -r line; /bin/cat',
  'more output than a state may have': '/usr/bin/head -c 5000000 /dev/zero',
  'patterns that only parse with an option': 'shopt -s extglob\nmatches() { case $1 in @(a|b)) return 0;; esac; }',
};

export const hostileZsh: Readonly<Record<string, string>> = {
  'functions named after commands':
    'builtin() { exit 41; }; print() { exit 41; }; printf() { exit 41; }; alias() { exit 41; }; functions() { exit 41; }; setopt() { exit 41; }; unsetopt() { exit 41; }; trap() { exit 41; }; exec() { exit 41; }; env() { exit 41; }; command() { exit 41; }; eval() { exit 41; }; unset() { exit 41; }; typeset() { exit 41; }',
  'aliases of commands and keywords':
    "alias builtin='exit 41' printf='exit 41' exec='exit 41' trap='exit 41' if='exit 41' for='exit 41' eval='exit 41' .='exit 41'; alias -g -- -f='exit 41' printf='exit 41'",
  'arrays as in ksh, words split, unset variables as errors': 'setopt ksh_arrays sh_word_split no_unset',
  'quotes doubled in quotes': "setopt rc_quotes; alias quoted='it''s'",
  'errors that end the shell': 'setopt err_exit',
  'a DEBUG trap that prints': "trap '/bin/echo debugging' DEBUG",
  'tracing, and a prompt for it': "setopt xtrace; PS4='+ '",
  'another IFS, PATH': 'IFS=aeiou/; path=(/nowhere)',
  'commands switched off': 'disable builtin printf trap unsetopt exec',
  'other variables in the place of its tables':
    'unset functions aliases options dis_functions; functions=none; aliases=none; options=none',
  'more output than a state may have': '/usr/bin/head -c 5000000 /dev/zero',
};

export const hostileSh: Readonly<Record<string, string>> = {
  'functions named after commands':
    'printf() { exit 41; }; alias() { exit 41; }; env() { exit 41; }; command() { exit 41; }; echo() { exit 41; }; test() { exit 41; }',
  'aliases of commands and keywords':
    "alias printf='exit 41' unset='exit 41' exec='exit 41' set='exit 41' alias='exit 41' if='exit 41' .='exit 41' eval='exit 41'",
  'errors that end the shell, unset variables as errors': 'set -eu',
  'an EXIT trap that prints': "trap '/bin/echo leaving' EXIT",
  'another IFS, PATH': 'IFS=aeiou/; export PATH=/nowhere',
  'every variable exported': 'set -a',
};
