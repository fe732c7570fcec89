import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The package archives this machine is configured for, each as a file that names its sources instead of its programs. */
export function sourceEntries() {
  const list = setting('Dir::Etc::SourceList/f');
  const parts = setting('Dir::Etc::SourceParts/d');
  const files = existsSync(parts) ? readdirSync(parts).sort() : [];
  return [list, ...files.map((file) => join(parts, file))].filter((file) => existsSync(file)).flatMap(entriesOf);
}

function setting(name) {
  const { stdout } = spawnSync('apt-config', ['shell', 'value', name], { encoding: 'utf8' });
  return /^value='(.*)'$/m.exec(stdout ?? '')?.[1] ?? '';
}

function entriesOf(file) {
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.list')) return linesOf(text).map((entry) => ({ name: 'archive.list', text: entry }));
  if (file.endsWith('.sources')) return stanzasOf(text).map((entry) => ({ name: 'archive.sources', text: entry }));
  return [];
}

const linesOf = (text) =>
  text
    .split('\n')
    .filter((line) => /^deb\s/.test(line))
    .map((line) => `${line.replace(/^deb/, 'deb-src')}\n`);

const stanzasOf = (text) =>
  text
    .split(/\n\s*\n/)
    .filter((stanza) => /^Types:.*\bdeb\b/m.test(stanza) && !/^Enabled:\s*no/im.test(stanza))
    .map((stanza) => `${stanza.replace(/^Types:.*$/m, 'Types: deb-src')}\n`);
