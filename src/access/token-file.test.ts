import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readTokenFile, showTokenFile, updateTokenFile } from './token-file.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'token-file-'));
  path = join(folder, 'tokens.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

const entry = (name: string) => ({ name, sha256: name.repeat(64), scopes: ['run' as const] });
const write = (text: string, mode = 0o600): void => {
  writeFileSync(path, text);
  chmodSync(path, mode);
};
const names = (): string[] => readTokenFile(path).map(({ name }) => name);

describe('a file of tokens', () => {
  it.each([0o644, 0o640, 0o604, 0o620, 0o660])(
    'that others can read or change (%o) is refused with the fix',
    (mode) => {
      write('{"tokens":[]}', mode);

      expect(() => readTokenFile(path)).toThrow(
        `cannot use ${path}: others can read or change it (mode 0${mode.toString(8)}); fix: chmod 600 ${path}`,
      );
    },
  );

  it('is a regular file: no link, pipe or directory', () => {
    write('{"tokens":[]}');
    symlinkSync(path, join(folder, 'link'));
    execFileSync('mkfifo', ['-m', '600', join(folder, 'pipe')]);

    expect(() => readTokenFile(join(folder, 'link'))).toThrow('it is a symbolic link; name the file that it leads to');
    expect(() => readTokenFile(join(folder, 'pipe'))).toThrow('it is not a regular file');
    expect(() => readTokenFile(folder)).toThrow('it is not a regular file');
    expect(() => readTokenFile(join(folder, 'missing'))).toThrow(
      `cannot use ${join(folder, 'missing')}: there is no such file; \`exec-server token add\` makes it`,
    );
    expect(() => updateTokenFile(join(folder, 'none', 'tokens.json'), () => [])).toThrow(
      `there is no directory ${join(folder, 'none')}; create it`,
    );
  });

  it('has a bound', () => {
    write(`{"tokens":[]}${' '.repeat(1024 * 1024)}`);

    expect(() => readTokenFile(path)).toThrow('it has more than 1048576 bytes');
  });

  it.skipIf(process.getuid!() !== 0)(
    'of another user is refused, but may be shown and changed by root (needs root)',
    () => {
      write('{"tokens":[]}');
      chownSync(path, 54_321, 54_322);

      expect(() => readTokenFile(path)).toThrow('it belongs to user 54321; fix: chown 0');
      expect(showTokenFile(path)).toEqual([]);
      updateTokenFile(path, () => [entry('a')]);
      expect(statSync(path)).toMatchObject({ uid: 54_321, gid: 54_322 });
    },
  );
});

describe('a change of the file', () => {
  it('makes it where it is missing, for its owner alone', () => {
    updateTokenFile(path, ({ entries }) => [...entries, entry('a')]);

    expect(names()).toEqual(['a']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps what it does not concern', () => {
    const old = { sha256: 'b'.repeat(64), scope: 'harness', environments: ['*'], comment: 'kept' };
    write(JSON.stringify({ version: 1, tokens: [old] }));
    updateTokenFile(path, ({ entries }) => [...entries, entry('a')]);

    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ version: 1, tokens: [old, entry('a')] });
  });

  it('writes where it is, since sandboxes mask that very file, also what is shorter', () => {
    updateTokenFile(path, () => [entry('a'), entry('b')]);
    const { ino } = statSync(path);
    updateTokenFile(path, ({ entries }) => entries.slice(1));

    expect([names(), statSync(path).ino, readFileSync(path, 'utf8').at(-2)]).toEqual([['b'], ino, '}']);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  it('that fails leaves the old file and no lock', () => {
    updateTokenFile(path, () => [entry('a')]);
    const refuse = (): never => {
      throw new Error('no such token');
    };

    expect(() => updateTokenFile(path, refuse)).toThrow('no such token');
    expect(() => updateTokenFile(path, () => [entry('b'), entry('b')])).toThrow('is the token of tokens[0]');
    expect([names(), existsSync(`${path}.new`)]).toEqual([['a'], false]);
  });

  it('waits for no other: while one is under way the next is refused, and touches nothing', () => {
    updateTokenFile(path, () => {
      expect(() => updateTokenFile(path, () => [entry('b')])).toThrow(
        `${path}.new exists: another program is changing`,
      );
      return [entry('a')];
    });

    expect(names()).toEqual(['a']);
  });

  it('does not follow a link, and repairs no permissions', () => {
    write('{"tokens":[]}', 0o644);
    expect(() => updateTokenFile(path, () => [])).toThrow('fix: chmod 600');
    symlinkSync(path, join(folder, 'link'));
    expect(() => updateTokenFile(join(folder, 'link'), () => [])).toThrow('it is a symbolic link');
  });
});
