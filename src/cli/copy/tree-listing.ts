import { entryOf, type ListedEntry } from './copy-side.ts';
import type { RemotePrograms } from './remote-programs.ts';

/** Lists everything below a directory of a server by the server's `find`, `stat` and `readlink`. Links are not followed. */
export async function* listTree(programs: RemotePrograms, directory: string): AsyncGenerator<ListedEntry> {
  await using process = await programs.start(['sh', '-c', SCRIPT, 'sh', directory]);
  let errorText = '';
  let unread: Buffer = Buffer.alloc(0);
  const fields: Buffer[] = [];
  for await (const { stream, bytes } of process.output) {
    if (stream === 'stderr') {
      errorText = `${errorText}${Buffer.from(bytes).toString()}`.slice(0, LONGEST_ERROR_TEXT);
      continue;
    }
    unread = Buffer.concat([unread, bytes]);
    for (let end = unread.indexOf(0); end >= 0; end = unread.indexOf(0)) {
      fields.push(unread.subarray(0, end));
      unread = unread.subarray(end + 1);
      if (fields.length === FIELDS) yield parseEntry(fields.splice(0) as [Buffer, Buffer, Buffer]);
    }
    if (unread.length > LONGEST_FIELD) throw new Error('the server lists a name that is too long');
  }
  const { exitCode } = await process.wait();
  const errorLines = errorText.split('\n').filter((line) => line !== '');
  for (const line of errorLines) yield parseErrorLine(line);
  if (exitCode !== 0 && errorLines.length === 0) throw new Error(`the server's listing ended with ${exitCode}`);
}

/** Prints three fields for each entry, each ended by a NUL: its path; its mode and size; the target of a link. */
const SCRIPT = `cd -- "$1" || exit
exec find . -mindepth 1 -exec sh -c '
  facts=$(stat -c "%f %s" -- "$@") || facts=
  set -f; IFS="
"
  lines=0; for line in $facts; do lines=$((lines + 1)); done
  [ $lines -eq $# ] || facts=
  for path do
    if [ -n "$facts" ]; then
      fact=\${facts%%"
"*}
      facts=\${facts#*"
"}
    else
      fact=$(stat -c "%f %s" -- "$path") || continue
    fi
    printf "%s\\0%s\\0" "$path" "$fact"
    if [ -L "$path" ]; then readlink -n -- "$path"; fi
    printf "\\0"
  done
' sh {} +`;

const FIELDS = 3;
/** Longer than any path or link of Linux. */
const LONGEST_FIELD = 16 * 1024;
const LONGEST_ERROR_TEXT = 64 * 1024;

/** GNU's `find: './a': Permission denied` or BusyBox's `find: ./a: Permission denied`; others are about the whole listing. */
function parseErrorLine(line: string): ListedEntry {
  const [, path = '.', problem = line] = /^[a-z]+: '?\.\/(.*?)'?: ([^:]+)$/.exec(line) ?? [];
  return { path, problem };
}

function parseEntry([name, facts, target]: [Buffer, Buffer, Buffer]): ListedEntry {
  const path = name.toString().replace(/^\.\//, '');
  if (!name.equals(Buffer.from(name.toString()))) return { path, problem: 'its name is not UTF-8' };
  const [, mode, size] = /^([0-9a-f]{1,8}) (\d{1,15})$/.exec(facts.toString()) ?? [];
  if (mode === undefined) return { path, problem: "the server's stat printed nothing about it" };
  const entry = entryOf(Number.parseInt(mode, 16), Number(size), () => target.toString());
  if (entry.kind === 'link' && !target.equals(Buffer.from(entry.target))) {
    return { path, problem: 'it is a link whose target is not UTF-8' };
  }
  return { path, entry };
}
