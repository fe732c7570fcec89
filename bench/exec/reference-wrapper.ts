import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { installIntoCache } from '../../scripts/npm-cache.mjs';

const version = '0.97.0';
const triples: Readonly<Record<string, string>> = {
  x64: 'x86_64-unknown-linux-musl',
  arm64: 'aarch64-unknown-linux-musl',
};

/** The wrapper of the last release of Codex's shell tool, fetched on first use. */
export async function referenceWrapper(root: string): Promise<string> {
  const home = join(root, '.cache', 'reference', `execve-wrapper-${version}`);
  await installIntoCache(home, `@openai/codex-shell-tool-mcp@${version}`);
  const vendor = join(home, 'node_modules/@openai/codex-shell-tool-mcp/vendor');
  const wrapper = join(vendor, triples[process.arch] ?? process.arch, 'codex-execve-wrapper');
  await access(wrapper, constants.X_OK);
  return wrapper;
}
