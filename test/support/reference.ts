import { access, constants } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installIntoCache } from '../../scripts/npm-cache.mjs';

const version = '0.166.0';

const triples: Record<string, string> = {
  x64: 'x86_64-unknown-linux-musl',
  arm64: 'aarch64-unknown-linux-musl',
};

/** The path of the real Codex program: `CODEX_BIN`, or the pinned npm package, installed on first use. */
export async function referenceBinary(): Promise<string> {
  const given = process.env.CODEX_BIN;
  if (given) {
    await access(given, constants.X_OK);
    return resolve(given);
  }
  const home = fileURLToPath(new URL(`../../.cache/reference/${version}`, import.meta.url));
  const binary = join(home, binaryWithinPackage());
  await installIntoCache(home, `@openai/codex@${version}`);
  await access(binary, constants.X_OK);
  return binary;
}

function binaryWithinPackage(): string {
  const triple = triples[process.arch];
  if (!triple) throw new Error(`there is no Codex ${version} for ${process.arch}; set CODEX_BIN`);
  return `node_modules/@openai/codex-linux-${process.arch}/vendor/${triple}/bin/codex`;
}
