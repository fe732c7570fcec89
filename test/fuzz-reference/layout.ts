import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** What every sequence finds. */
export function layOut(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'folder/inner'), { recursive: true });
  mkdirSync(join(folder, 'empty'));
  writeFileSync(join(folder, 'file'), 'contents\n');
  writeFileSync(join(folder, 'folder/file'), 'more\n');
  writeFileSync(join(folder, 'program'), '#!/bin/sh\necho "program $0"\n');
  chmodSync(join(folder, 'program'), 0o755);
  symlinkSync('folder', join(folder, 'link'));
  symlinkSync('nothing', join(folder, 'dangling'));
}

/** Every file below, with its kind, mode and contents; names are bytes. */
export function listing(folder: string): string[] {
  return listed(Buffer.from(folder), '');
}

function listed(folder: Buffer, prefix: string): string[] {
  return readdirSync(folder, { encoding: 'buffer' })
    .sort(Buffer.compare)
    .flatMap((name) => {
      const path = Buffer.concat([folder, Buffer.from('/'), name]);
      const shown = `${prefix}${name.toString('latin1')}`;
      const status = lstatSync(path);
      if (status.isSymbolicLink()) return [`${shown} -> ${readlinkSync(path)}`];
      const mode = (status.mode & 0o777).toString(8);
      if (status.isDirectory()) return [`${shown}/ ${mode}`, ...listed(path, `${shown}/`)];
      return [`${shown} ${mode} ${readFileSync(path, 'base64')}`];
    });
}

/** Makes the second directory like the first. */
export function copyLayout(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  execFileSync('cp', ['-aT', from, to]);
}
