type Random = (below: number) => number;

/** Valid requests of every method, on a few processes, handles and files of the fuzzer's own. */
export function validRequest(
  id: number,
  folder: string,
  random: Random,
): { method: string; text: string; processId?: string } {
  const uri = `file://${folder}`;
  const processId = `p${random(200)}`;
  const handleId = `h${random(5)}`;
  const streamId = `s${random(5)}`;
  const path = `${uri}/f${random(5)}`;
  const argv = [['/bin/true'], ['/bin/echo', 'x'], ['/bin/cat'], ['/bin/sleep', '0.01']][random(4)]!;
  const ours = [
    {},
    { timeoutMs: 1 + random(20), graceMs: random(20) },
    { delivery: 'pull' },
    { limits: { pids: 50, fileBytes: 10_000 } },
  ][random(4)];
  const wiring = { tty: random(2) === 0, pipeStdin: random(2) === 0 };
  const start = { processId, argv, cwd: uri, env: { A: '1' }, ...wiring, ...ours };
  const all: Readonly<Record<string, unknown>> = {
    initialize: { clientName: 'fuzz', resumeSessionId: null },
    'environment/info': null,
    'environment/status': {},
    'environmentConfig/read': { cwd: uri, configPaths: [['a']], requirementsPaths: [] },
    'process/start': random(2) ? start : { ...start, mode: 'prepared', request: { argv, cwd: uri, env: {} } },
    'process/read': { processId, afterSeq: random(5), maxBytes: random(100), waitMs: random(20) },
    'process/write': {
      processId,
      writeId: `w${random(100)}`,
      chunk: Buffer.alloc(random(9000), 'a').toString('base64'),
    },
    'process/closeStdin': { processId },
    'process/signal': { processId, signal: 'terminate' },
    'process/terminate': { processId, mode: { type: 'graceful', timeoutMs: random(20) } },
    'process/resize': { processId, rows: 1 + random(100), cols: 1 + random(100) },
    'process/wait': { processId, timeoutMs: random(20), until: 'exited' },
    'process/snapshot': { processId },
    'process/stat': { processId },
    'process/list': { all: random(2) === 0 },
    'net/open': { streamId, host: '192.0.2.1', port: 9 },
    'net/write': { streamId, chunk: 'YWJj', writeId: `w${random(5)}` },
    'net/end': { streamId },
    'net/close': { streamId },
    'net/read': { streamId, afterSeq: random(5), maxBytes: random(100) },
    'net/ack': { streamId, seq: random(5) },
    'net/list': {},
    'net/ports': { processId },
    'fs/readFile': { path },
    'fs/writeFile': { path, dataBase64: Buffer.alloc(random(9000), 'b').toString('base64') },
    'fs/open': { handleId, path, mode: (['read', 'replace', 'append'] as const)[random(3)] },
    'fs/readBlock': { handleId, offset: random(100), len: 1 + random(1000) },
    'fs/writeBlock': { handleId, offset: random(100), chunk: 'YWJj' },
    'fs/close': { handleId },
    'fs/createDirectory': { path: `${uri}/d${random(5)}`, recursive: true },
    'fs/getMetadata': { path },
    'fs/canonicalize': { path },
    'fs/readDirectory': { path: uri },
    'fs/walk': {
      path: uri,
      options: { maxDepth: 3, maxDirectories: 10, maxEntries: 10, followDirectorySymlinks: false },
    },
    'fs/remove': { path, recursive: true, force: true },
    'fs/copy': { sourcePath: path, destinationPath: `${uri}/c${random(5)}`, recursive: false },
    'fs/rename': { sourcePath: path, destinationPath: `${uri}/f${random(5)}`, overwrite: random(2) === 0 },
    'fs/setPermissions': { path, mode: 0o600 + random(0o200) },
    'fs/search': {
      searchId: `s${random(5)}`,
      path: uri,
      name: 'f[0-9]',
      content: random(2) ? { literal: 'ab' } : { regex: '(a|b)+$' },
      maxMatches: 1 + random(20),
    },
    'fs/searchCancel': { searchId: `s${random(5)}` },
    'fs/watch': { watchId: `w${random(5)}`, path: uri, recursive: random(2) === 0 },
    'fs/unwatch': { watchId: `w${random(5)}` },
    'fs/watchMissing': { watchId: random(5), missing: [`${uri}/missing`] },
    'http/request': { method: 'GET', url: 'http://127.0.0.1:9/', requestId: `r${random(5)}`, timeoutMs: 50 },
    'capabilityRoots/discoverV1': { roots: [{ id: 'a', path: uri }] },
    'capabilities/discoverV2': { cwd: uri },
  };
  const names = Object.keys(all);
  const method = names[random(names.length)]!;
  const text = JSON.stringify({ id, method, params: all[method] });
  return method === 'process/start' ? { method, text, processId } : { method, text };
}
