import { posix } from 'node:path';
import { conflicts } from './copy-side.ts';

/** A finished file or link to be renamed to its final path, or a mode to be set on a directory. */
export type Placement =
  /** The unfinished file already has the name that it gets in `directory`. */
  | { readonly type: 'file'; readonly mode: number; readonly unfinished: string; readonly directory: string }
  | { readonly type: 'link'; readonly target: string; readonly unfinished: string; readonly path: string }
  | { readonly type: 'mode'; readonly mode: number; readonly path: string };

/**
 * The shell command that carries placements out. For each, in order, it prints two fields that end with a NUL: the messages of the
 * programs, and the status. Consecutive files with the same mode and directory take one `chmod` and one `mv` together.
 */
export function placementCommand(placements: readonly Placement[]): string[] {
  const words: string[] = [];
  const refer = (word: string): string => `"\${${words.push(word)}}"`;
  const lines = groupsOf(placements).map((group) =>
    callFor(group)
      .map((word) => refer(word))
      .join(' '),
  );
  return ['sh', '-c', `${FUNCTIONS}\n${lines.join('\n')}`, 'sh', ...words];
}

/** Sorts files of one mode and directory next to each other. */
export function grouped<T>(items: readonly T[], placementOf: (item: T) => Placement): T[] {
  const group = (item: T): string => groupKey(placementOf(item));
  return [...items].sort((a, b) => (group(a) < group(b) ? -1 : group(a) > group(b) ? 1 : 0));
}

function groupsOf(placements: readonly Placement[]): Placement[][] {
  const groups: Placement[][] = [];
  for (const placement of placements) {
    const last = groups.at(-1);
    if (last && placement.type === 'file' && groupKey(last[0]!) === groupKey(placement)) last.push(placement);
    else groups.push([placement]);
  }
  return groups;
}

const groupKey = (placement: Placement): string =>
  placement.type === 'file' ? `${octal(placement.mode)} ${placement.directory}` : '';

/** The call of the shell function that carries a group out. */
function callFor(group: readonly Placement[]): string[] {
  const first = group[0]!;
  if (first.type === 'mode') return ['set_mode', octal(first.mode), first.path];
  if (first.type === 'link') {
    return ['place_link', first.target, first.unfinished, posix.dirname(first.path), posix.basename(first.path)];
  }
  const files = group.flatMap((placement) => (placement.type === 'file' ? [placement.unfinished] : []));
  return ['place_files', octal(first.mode), first.directory, ...files];
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

/**
 * A directory is entered only if its path has no symbolic links. Files are moved all at once; if that fails they are moved one by
 * one, so that each has its own error. A file that is missing in the staging directory has been moved already.
 */
const FUNCTIONS = `entered=
enter() {
  [ "$1" = "$entered" ] && return
  entered=
  cd -P -- "$1" || return
  [ "$(pwd -P; echo .)" = "$1
." ] || { echo '${conflicts.swapped}'; return 1; }
  entered=$1
}
free() {
  for place do
    ! [ -d "./\${place##*/}" ] || [ -L "./\${place##*/}" ] || { echo '${conflicts.directory}'; return 1; }
  done
}
tell() {
  "$@" 2>&1
  printf '\\0%s\\0' $?
}
all_files() {
  enter "$directory" && free "$@" && chmod -- "$mode" "$@" || return
  tried=yes
  mv -f -- "$@" .
}
one_file() { enter "$directory" && free "$1" && chmod -- "$mode" "$1" && mv -f -- "$1" .; }
place_files() {
  mode=$1 directory=$2 tried=no
  shift 2
  all_files "$@" >/dev/null 2>&1
  for file do
    if [ $tried = yes ] && ! [ -e "$file" ]; then tell :; else tell one_file "$file"; fi
  done
}
one_link() { enter "$3" && free "$4" && ln -s -- "$1" "$2" && mv -f -T -- "$2" "./$4"; }
place_link() { tell one_link "$@"; }
one_mode() { enter "$2" && chmod -- "$1" .; }
set_mode() { tell one_mode "$@"; }`;
