import type { RandomSource } from '../random-source.ts';

/** Names in the scratch directory; the first eight exist when a sequence begins. */
const names = [
  'file',
  'folder',
  'folder/inner',
  'folder/file',
  'link',
  'dangling',
  'empty',
  'program',
  'new',
  'new/deep',
  'folder/new',
  'link/new',
  'ü ñ',
  '.git',
  '.codex/x',
];

/** Spellings of one path that the URL parser treats in different ways. */
const spellings: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `${path}/.`,
  (path) => `./${path}`,
  (path) => `%2e/${path}`,
  (path) => `folder/../${path}`,
  (path) => `folder/%2E%2e/${path}`,
  (path) => `folder/inner/.%2e/../${path}`,
  (path) => path.replaceAll('e', '%65'),
  (path) => `/${path}`,
  (path) => `${path}//`,
  (path) => path.replace('/', '%2f'),
  (path) => path.replace('/', '\\'),
  (path) => `${path}%ff`,
  (path) => `${path}%C3%BC`,
  (path) => `${path}%`,
  (path) => ` ${path}`,
  (path) => `${path}\t`,
  (path) => `${path}|"<>^\`{}`,
];

/** URIs that name no file of this machine, or none at all. */
const foreign = (base: string): readonly string[] => [
  'file://host/x',
  'file://127.0.0.1/x',
  'file:///C:/x',
  'file:///c|/x',
  'http://x/',
  'FTP:x',
  'file:///%00',
  `${base}/file%00`,
  'file:///%00/bad/path/L3g',
  '',
  'x',
  './x',
  '//x',
  'file://user@/x',
  'file://localhost:1/x',
  'file://[::1]/x',
  `${base}/file?q`,
  `${base}/file#f`,
  `${base}/file?`,
];

/** Other beginnings of the same URI. */
const beginnings: readonly ((uri: string) => string)[] = [
  (uri) => uri.replace('file:///', 'FILE:///'),
  (uri) => uri.replace('file:///', 'file:/'),
  (uri) => uri.replace('file:///', 'file:'),
  (uri) => uri.replace('file:///', 'file://localhost/'),
  (uri) => uri.replace('file:///', 'file:////'),
  (uri) => uri.replace('file:///', 'file:\\\\\\'),
  (uri) => ` ${uri} `,
];

/** A URI in the scratch directory, most of the time. */
export function path(random: RandomSource, base: string): string {
  const name = random.pick(names);
  if (!random.oneIn(4)) return `${base}/${name}`;
  if (random.oneIn(5)) {
    random.oddities++;
    return random.pick(foreign(base));
  }
  const uri = `${base}/${random.pick(spellings)(name)}`;
  return random.oneIn(6) ? random.pick(beginnings)(uri) : uri;
}
