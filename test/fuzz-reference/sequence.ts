export type Random = (below: number) => number;

export interface Step {
  /** A whole message as text, or a request that gets an id. */
  readonly raw?: string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!;

/** Names in the scratch directory; the first six exist when a sequence begins. */
const names = ['file', 'folder', 'folder/inner', 'link', 'dangling', 'empty', 'new', 'new/deep', 'folder/new', 'ü ñ'];

/** Spellings of one path that the URL parser treats in different ways. */
const spellings: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => path,
  (path) => path,
  (path) => `${path}/`,
  (path) => `${path}/.`,
  (path) => `./${path}`,
  (path) => `%2e/${path}`,
  (path) => `folder/../${path}`,
  (path) => `folder/%2E%2e/${path}`,
  (path) => path.replaceAll('e', '%65'),
  (path) => `/${path}`,
  (path) => `${path}//`,
];

/** URIs that name nothing of this machine. */
const foreign = [
  'file://host/x',
  'file:///C:/x',
  'http://x/',
  'file:///%00',
  '',
  'x',
  'file:///tmp/w?q',
  'file:///tmp/w#f',
];

const commands: readonly (readonly string[])[] = [
  ['/bin/true'],
  ['/bin/false'],
  ['/bin/echo', 'one', 'two'],
  ['sh', '-c', 'echo out; echo err >&2; exit 3'],
  ['sh', '-c', 'kill -9 $$'],
  ['sh', '-c', 'pwd; echo "$A"'],
  ['cat'],
  [],
  [''],
  ['nowhere'],
  ['./nowhere'],
  ['../nowhere'],
  ['folder/nowhere'],
  ['/nowhere/x'],
  ['/etc'],
  ['/etc/passwd'],
];

const raws = [
  '{"id":5,"method":"environment/status","x":"\\ud83d"}',
  '{"id":5,"method":"environment/status","params":{"a":1}}',
  '{"id":5,"method":"environment/status","params":[]}',
  '{"id":5.0,"method":"environment/status"}',
  '{"id":null,"method":"environment/status"}',
  '{"id":"text","method":"environment/status"}',
  '{"id":9223372036854775807,"method":"environment/status"}',
  '{"id":9223372036854775808,"method":"environment/status"}',
  '{"id":5,"id":6,"method":"environment/status"}',
  '{"id":5,"method":"nothing/known"}',
  '{"id":5,"method":"environment/status"',
  'null',
  '[]',
  '{}',
];

/** A request with parameters out of the ordinary now and then. */
export function randomStep(random: Random, base: string): Step {
  const path = () =>
    random(25) === 0 ? pick(random, foreign) : `${base}/${pick(random, spellings)(pick(random, names))}`;
  const flag = () => pick(random, [true, false, undefined, null]);
  const processId = `p${random(3)}`;
  const handleId = `h${random(2)}`;
  const chunk = () => pick(random, ['', 'YQ==', 'aGVsbG8=', 'YQ', '*', null]);
  const steps: readonly (() => Step)[] = [
    () => ({ method: 'fs/readFile', params: { path: path(), followSymlinks: flag() } }),
    () => ({ method: 'fs/writeFile', params: { path: path(), dataBase64: chunk(), followSymlinks: flag() } }),
    () => ({ method: 'fs/createDirectory', params: { path: path(), recursive: flag(), followSymlinks: flag() } }),
    () => ({ method: 'fs/getMetadata', params: { path: path(), followSymlinks: flag() } }),
    () => ({ method: 'fs/canonicalize', params: { path: path() } }),
    () => ({ method: 'fs/readDirectory', params: { path: path() } }),
    () => ({ method: 'fs/walk', params: { path: path(), options: walkOptions(random) } }),
    () => ({ method: 'fs/remove', params: { path: path(), recursive: flag(), force: flag(), followSymlinks: flag() } }),
    () => ({ method: 'fs/copy', params: { sourcePath: path(), destinationPath: path(), recursive: flag() } }),
    () => ({
      method: 'fs/open',
      params: { handleId, path: path(), mode: pick(random, ['read', 'replace', undefined]) },
    }),
    () => ({
      method: 'fs/readBlock',
      params: { handleId, offset: random(8), len: pick(random, [1, 5, 0, 1_048_577]) },
    }),
    () => ({ method: 'fs/writeBlock', params: { handleId, offset: random(8), chunk: chunk() } }),
    () => ({ method: 'fs/close', params: { handleId } }),
    () => ({ method: 'process/start', params: startParams(random, processId, base) }),
    () => ({ method: 'process/start', params: startParams(random, processId, base) }),
    () => ({ method: 'process/write', params: { processId, writeId: `w${random(3)}`, chunk: chunk() } }),
    () => ({ method: 'process/read', params: { processId } }),
    () => ({ method: 'process/terminate', params: { processId } }),
    () => ({ method: 'process/signal', params: { processId, signal: pick(random, ['interrupt', 'kill', 1]) } }),
    () => ({ method: 'environment/status' }),
    () => ({ raw: pick(random, raws) }),
  ];
  const { params, ...step } = pick(random, steps)();
  return params ? { ...step, params: spoiled(random, params) } : step;
}

const walkOptions = (random: Random) => ({
  maxDepth: random(4),
  maxDirectories: 1 + random(4),
  maxEntries: 1 + random(6),
  followDirectorySymlinks: random(2) === 0,
});

function startParams(random: Random, processId: string, base: string): Record<string, unknown> {
  return {
    processId,
    argv: pick(random, commands),
    cwd: random(8) === 0 ? pick(random, foreign) : `${base}/${pick(random, ['', 'folder', 'file', 'folder/.'])}`,
    env: pick(random, [{ PATH: '/usr/bin:/bin', A: 'ä' }, { PATH: '/usr/bin:/bin' }, { PATH: '/nowhere' }]),
    tty: random(3) === 0,
    pipeStdin: random(2) === 0,
  };
}

/** Sometimes a member is missing or of another type. */
function spoiled(random: Random, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  if (random(12) !== 0) return given;
  const name = pick(random, Object.keys(given));
  if (random(2) === 0) delete given[name];
  else given[name] = pick(random, [7, 'text', {}, true, null, -1, 1.5]);
  return given;
}
