import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const version = '0.97.0';
const triples: Readonly<Record<string, string>> = {
  x64: 'x86_64-unknown-linux-musl',
  arm64: 'aarch64-unknown-linux-musl',
};

/** The wrapper of the last release of Codex's shell tool, fetched on first use. */
export function referenceWrapper(root: string): string {
  const home = join(root, '.cache', 'reference', `execve-wrapper-${version}`);
  if (!existsSync(home)) fetchInto(home);
  const vendor = join(home, 'node_modules/@openai/codex-shell-tool-mcp/vendor');
  const wrapper = join(vendor, triples[process.arch] ?? process.arch, 'codex-execve-wrapper');
  accessSync(wrapper, constants.X_OK);
  return wrapper;
}

function fetchInto(home: string): void {
  const partial = `${home}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const quietly = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const args = ['install', ...quietly, '--prefix', partial, `@openai/codex-shell-tool-mcp@${version}`];
  try {
    execFileSync('npm', args, { stdio: ['ignore', 2, 2] });
    renameSync(partial, home); // only a complete one gets the name
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}
