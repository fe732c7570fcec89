import { execFile } from 'node:child_process';
import { access, constants, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const version = '0.166.0';

const triples: Record<string, string> = {
  x64: 'x86_64-unknown-linux-musl',
  arm64: 'aarch64-unknown-linux-musl',
};

// $1 the finished installation, $2 the binary in it, $3 what to install. Only a complete installation gets the
// final name, so a run that is killed half-way leaves nothing that looks usable.
const installOnce = `
  test -x "$2" && exit
  rm -rf "$1" "$1.partial"
  npm install --no-save --no-audit --no-fund --ignore-scripts --loglevel=error --prefix "$1.partial" "$3" &&
  mv "$1.partial" "$1"`;

/** The path of the real Codex program: `CODEX_BIN`, or the pinned npm package, installed on first use. */
export async function referenceBinary(): Promise<string> {
  const given = process.env.CODEX_BIN;
  if (given) {
    await access(given, constants.X_OK);
    return resolve(given);
  }
  const home = fileURLToPath(new URL(`../../.cache/reference/${version}`, import.meta.url));
  const binary = join(home, binaryWithinPackage());
  if (!(await isExecutable(binary))) await install(home, binary);
  return binary;
}

/** Several test workers may ask at once: the kernel's file lock lets one install and the others wait. */
async function install(home: string, binary: string): Promise<void> {
  await mkdir(dirname(home), { recursive: true });
  const script = ['sh', '-c', installOnce, 'install', home, binary, `@openai/codex@${version}`];
  await promisify(execFile)('flock', [`${home}.lock`, ...script]);
  if (!(await isExecutable(binary))) throw new Error(`@openai/codex@${version} was installed without ${binary}`);
}

function binaryWithinPackage(): string {
  const triple = triples[process.arch];
  if (!triple) throw new Error(`there is no Codex ${version} for ${process.arch}; set CODEX_BIN`);
  return `node_modules/@openai/codex-linux-${process.arch}/vendor/${triple}/bin/codex`;
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
