// Builds everything the package ships: the native parts, the library (one file per module, with types) and the
// command line (a few files, because they start faster than dozens: what opens the port, and the rest on demand).
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { ensureInstalled } from './system-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = (...argv) => execFileSync(process.execPath, argv, { cwd: root, stdio: 'inherit' });

/** Fewer bytes to read at start, and stack traces that still name functions. */
const WHITESPACE_ONLY = { mangle: false, compress: false, codegen: { removeWhitespace: true } };

/** Large and seldom needed: loaded from where npm installed it, by the first who asks. */
const ON_DEMAND = ['undici'];

/** What every start loads, in one file. */
const AT_START =
  /src\/(base|host\/(os|own|http|peers))\/|src\/cli\/(arguments|usage-error|stderr-logger|remote-options)\.ts|src\/server\/(index|config|listen-url|serve)\.ts|src\/protocol\/limits\.ts|rolldown\/runtime|oxc-project/;

/** CommonJS, because Node 20 loads it 6 ms faster than an ES module of the same size. */
async function bundle(input, folder) {
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
    minify: WHITESPACE_ONLY,
    codeSplitting: { groups: [{ name: 'core', test: AT_START }] },
  });
  return output.map(({ fileName }) => fileName);
}

run('scripts/build-native.mjs');
ensureInstalled({
  purpose: 'sandboxed commands',
  packages: ['bubblewrap'],
  isThere: () => process.platform !== 'linux' || existsSync('/usr/bin/bwrap'),
});
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
const parts = await bundle({ main: 'src/cli/main.ts', 'exec-mcp-server': 'src/cli/exec-mcp-main.ts' }, 'dist/bin');
copyFileSync(`${root}/scripts/launcher.cjs`, `${root}/dist/bin/exec-server.cjs`);
for (const program of ['exec-server', 'exec-mcp-server']) chmodSync(`${root}/dist/bin/${program}.cjs`, 0o755);
removeOthers(`${root}/dist/bin`, ['exec-server.cjs', ...parts]);
run('scripts/make-code-cache.cjs');
const benchmarks = {
  main: 'bench/main.ts',
  exec: 'bench/exec/main.ts',
  relay: 'bench/relay/main.ts',
  denials: 'bench/denials/main.ts',
};
await bundle(benchmarks, 'dist/bench');

/** Takes away what earlier builds left. */
function removeOthers(folder, kept) {
  for (const name of readdirSync(folder)) {
    if (!kept.includes(name)) rmSync(`${folder}/${name}`, { recursive: true });
  }
}
