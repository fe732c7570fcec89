// Builds everything the package ships: the native parts, the library (one file per module, with types) and the
// command line (a few files, because they start faster than dozens: what opens the port, and the rest on demand).
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ensureInstalled } from './system-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = (...argv) => execFileSync(process.execPath, argv, { cwd: root, stdio: 'inherit' });

/** Fewer bytes to read at start, one for each character (the launcher relies on it), and stack traces that still name functions. */
const COMPACT = { mangle: false, compress: false, codegen: { removeWhitespace: true, asciiOnly: true } };

/** Large and seldom needed: loaded from where npm installed it, by the first who asks. */
const ON_DEMAND = ['undici'];

/** CommonJS, because Node 20 loads it 6 ms faster than an ES module of the same size. */
async function bundle(input, folder, groups) {
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external: ON_DEMAND,
    logLevel: 'warn',
    transform: { target: 'node20.19' },
    resolve: { alias: { bufferutil: `${root}/src/host/os/websocket-masks.ts` } },
  });
  const { output } = await build.write({
    dir: `${root}/${folder}`,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    format: 'cjs',
    minify: COMPACT,
    ...(groups && { codeSplitting: { groups } }),
  });
  return output;
}

/** One file for what every start loads, and one for what the first client needs: V8 takes fewer and larger ones sooner. */
function startAndServing(chunks) {
  const start = modulesOf(chunks, ['src/cli/main.ts']);
  const serving = modulesOf(chunks, ['src/server/connection-point.ts', 'src/server/accept-websocket.ts']);
  return [
    { name: 'start', test: (id) => start.has(id) },
    { name: 'serving', test: (id) => serving.has(id) },
  ];
}

/** What is loaded with these modules, as the bundler divides the program by itself; not the modules that are entered. */
function modulesOf(chunks, names) {
  const entered = chunks.filter(({ facadeModuleId }) => names.some((name) => facadeModuleId === join(root, name)));
  const loaded = new Set(entered);
  for (const { imports } of loaded) {
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) loaded.add(chunk);
  }
  return new Set(
    [...loaded].flatMap(({ moduleIds }) => moduleIds).filter((id) => id !== join(root, 'src/cli/main.ts')),
  );
}

run('scripts/build-native.mjs');
ensureInstalled({
  purpose: 'sandboxed commands',
  packages: ['bubblewrap'],
  isThere: () => process.platform !== 'linux' || existsSync('/usr/bin/bwrap'),
});
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
const programs = { main: 'src/cli/main.ts', 'exec-mcp-server': 'src/cli/exec-mcp-main.ts' };
const divided = await bundle(programs, 'dist/bin');
const parts = await bundle(programs, 'dist/bin', startAndServing(divided));
copyFileSync(`${root}/scripts/launcher.cjs`, `${root}/dist/bin/exec-server.cjs`);
for (const program of ['exec-server', 'exec-mcp-server']) chmodSync(`${root}/dist/bin/${program}.cjs`, 0o755);
removeOthers(`${root}/dist/bin`, ['exec-server.cjs', ...parts.map(({ fileName }) => fileName)]);
run('scripts/make-code-cache.cjs');
const benchmarks = {
  main: 'bench/main.ts',
  exec: 'bench/exec/main.ts',
  relay: 'bench/relay/main.ts',
  denials: 'bench/denials/main.ts',
  search: 'bench/search/main.ts',
  ports: 'bench/ports/main.ts',
};
await bundle(benchmarks, 'dist/bench');

/** Takes away what earlier builds left. */
function removeOthers(folder, kept) {
  for (const name of readdirSync(folder)) {
    if (!kept.includes(name)) rmSync(`${folder}/${name}`, { recursive: true });
  }
}
