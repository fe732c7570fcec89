import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandBlock, order, type Report, ReportReader, shellBlock } from './broker-protocol.ts';

/** What a reader makes of bytes that arrive in these pieces, all in the same place. */
function readAll(pieces: readonly Buffer[]): Report[] {
  const reader = new ReportReader();
  const room = Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length)));
  return pieces.flatMap((piece) => {
    const reports = reader.push(room.subarray(0, piece.copy(room)));
    room.fill(0x2e);
    return reports;
  });
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const id = fc.nat();
const stream = fc.constantFrom('stdout' as const, 'stderr' as const);
const bytes = fc.uint8Array({ maxLength: 600 }).map((array) => Buffer.from(array));
const streamNumber = { stdout: 1, stderr: 2 };

const written: fc.Arbitrary<readonly [Buffer, Report]> = fc.oneof(
  fc
    .tuple(stream, bytes)
    .map(([name, block]): readonly [Buffer, Report] => [
      order(['output', streamNumber[name]], block),
      { type: 'output', stream: name, bytes: block },
    ]),
  fc
    .tuple(id, id, fc.constantFrom('wrapper' as const, 'kernel' as const), bytes)
    .map(([number, pid, via, block]): readonly [Buffer, Report] => [
      order(['asked', number, pid, via], block),
      { type: 'asked', id: number, pid, via, block },
    ]),
  fc
    .tuple(
      id,
      fc.array(
        fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
        { minLength: 1 },
      ),
    )
    .map(([number, [path, ...argv]]): readonly [Buffer, Report] => [
      order(['seen', number], Buffer.from([path, ...argv].map((text) => `${text}\0`).join(''))),
      { type: 'seen', id: number, path: path!, argv },
    ]),
  id.map((number): readonly [Buffer, Report] => [order(['gone', number]), { type: 'gone', id: number }]),
  id.map((code): readonly [Buffer, Report] => [order(['exited', code]), { type: 'exited', status: { code } }]),
);

describe('the reader of reports', () => {
  it('finds every report, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(written), fc.array(fc.nat()), (list, places) => {
        const pieces = cut(Buffer.concat(list.map(([line]) => line)), places);

        expect(readAll(pieces)).toEqual(list.map(([, report]) => report));
      }),
    );
  });

  it.each([
    ['ready\n', { type: 'ready' }],
    ['started 12\n', { type: 'started', pid: 12 }],
    ['failed exec 2\n', { type: 'failed', step: 'exec', errno: 2 }],
    ['ended 2\n', { type: 'ended', stream: 'stderr' }],
    ['killed 9\n', { type: 'exited', status: { signal: 9 } }],
    ['running 3 45\n', { type: 'running', id: 3, pid: 45 }],
    ['unstarted 3 chdir 13\n', { type: 'unstarted', id: 3, step: 'chdir', errno: 13 }],
    ['finished 3 exited 7\n', { type: 'finished', id: 3, status: { code: 7 } }],
    ['finished 3 killed 15\n', { type: 'finished', id: 3, status: { signal: 15 } }],
    ['swept 4\n', { type: 'swept', count: 4 }],
    ['noted two words\n', { type: 'noted', text: 'two words' }],
  ])('understands %j', (line, report) => {
    expect(readAll([Buffer.from(line)])).toEqual([report]);
  });

  it.each(['unheard of\n', 'gone\n', 'gone x\n', 'output 1 99999999999\n', 'output 3 1\nx', 'x'.repeat(300)])(
    'refuses %j',
    (text) => {
      expect(() => readAll([Buffer.from(text)])).toThrow();
    },
  );
});

describe('a block', () => {
  const command = {
    file: Buffer.from('./tool'),
    argv: [Buffer.from('tool'), Buffer.from([0xff])],
    workdir: Buffer.from('/w'),
    env: [Buffer.from('A=1')],
    umask: 0o27,
    limits: [{ name: 'nofile', soft: 10n, hard: 'unlimited' }],
  } as const;

  it('of a command has its parts in order', () => {
    const expected = '/w\0./tool\0' + '27\0' + '5:6\0' + '7:8\0' + '1\0nofile 10 unlimited\0' + '2\0tool\0\xff\0A=1\0';

    expect(
      commandBlock(command, { program: { device: 5n, inode: 6n }, workdir: { device: 7n, inode: 8n } }).toString(
        'latin1',
      ),
    ).toBe(expected);
  });

  it('of a command may leave out what is not known', () => {
    const block = commandBlock({ ...command, umask: undefined, limits: [] });

    expect(block.toString('latin1')).toBe('/w\0./tool\0-\0-\0-\0' + '0\0' + '2\0tool\0\xff\0A=1\0');
  });

  it('of a shell has its parts in order', () => {
    const block = shellBlock({
      intercept: 'all',
      shell: '/b',
      file: '/l',
      argv: ['l', 'x'],
      cwd: '/',
      env: { A: '1' },
      inherited: 2,
    });

    expect(block.toString()).toBe('-1\0all\0/b\0' + '2\0/\0/l\0' + '2\0l\0x\0A=1\0');
  });

  it('holds no string with a NUL in it', () => {
    expect(() => commandBlock({ ...command, file: Buffer.from('a\0b') })).toThrow('contains NUL');
  });
});
