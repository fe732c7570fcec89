import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { libcOf, platformName } from './platform.ts';

describe('the platform', () => {
  it('names the C library that Node reports', () => {
    const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
    const libc = header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';

    expect(platformName()).toBe(`${process.platform}-${process.arch}-${libc}`);
  });

  it('has musl if the loader of a program is that of musl', () => {
    const folder = mkdtempSync(join(tmpdir(), 'platform-'));
    const program = join(folder, 'program');
    writeFileSync(program, `\x7fELF${'\0'.repeat(700)}/lib/ld-musl-x86_64.so.1\0`);

    expect(libcOf(program)).toBe('musl');
    rmSync(folder, { recursive: true });
  });
});
