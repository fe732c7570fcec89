import { describe, expect, it } from 'vitest';
import { limits } from '../../protocol/index.ts';
import { DenialFrames } from './denial-frames.ts';

interface Parts {
  readonly kind?: number;
  readonly missing?: number;
  readonly subject?: string | Buffer;
  readonly program?: string;
  readonly reserved?: number;
}

function frame({ kind = 1, missing = 0, subject = '/x', program = 'touch', reserved = 0 }: Parts = {}): Buffer {
  const header = Buffer.alloc(8);
  const body = Buffer.from(subject as string);
  header.writeUInt8(kind, 0);
  header.writeUInt8(missing, 1);
  header.writeUInt16LE(body.length, 2);
  header.writeUInt16LE(Buffer.byteLength(program), 4);
  header.writeUInt16LE(reserved, 6);
  return Buffer.concat([header, body, Buffer.from(program)]);
}

const wire = (bytes: Buffer): unknown => JSON.parse(JSON.stringify(new DenialFrames().push(bytes)));

describe('frames of refusals', () => {
  it('end with one that says so', () => {
    const frames = new DenialFrames();
    expect(frames.push(frame())).toHaveLength(1);
    expect(frames.ended).toBe(false);
    expect(frames.push(frame({ kind: 255, subject: '', program: '' }))).toEqual([]);
    expect([frames.ended, frames.broken]).toEqual([true, false]);
  });

  it('name the kind, the path or address, and the program', () => {
    const bytes = Buffer.concat([
      frame({ subject: '/a/./b/../c d' }),
      frame({ kind: 2, subject: '192.0.2.1:80', program: 'curl' }),
      frame({ kind: 2, subject: '' }),
      frame({ kind: 3, subject: '', program: 'strace' }),
    ]);
    expect(wire(bytes)).toEqual([
      { denial: { kind: 'write', path: 'file:///a/c%20d', program: 'touch' } },
      { denial: { kind: 'network', address: '192.0.2.1:80', program: 'curl' } },
      { denial: { kind: 'network', program: 'touch' } },
      { denial: { kind: 'syscall', program: 'strace' } },
    ]);
  });

  it('tell a path that is missing from one that is refused', () => {
    expect(wire(frame({ missing: 1 }))).toEqual([
      { denial: { kind: 'write', path: 'file:///x', program: 'touch' }, missing: '/x' },
    ]);
  });

  it('keep the bytes of names that are no UTF-8', () => {
    const [report] = new DenialFrames().push(frame({ subject: Buffer.from([0x2f, 0xff]) }));
    expect(report!.denial.path!.toNative()).toEqual(new Uint8Array([0x2f, 0xff]));
  });

  it('may come in any pieces', () => {
    const frames = new DenialFrames();
    const bytes = Buffer.concat([frame(), frame({ subject: '/y' })]);
    const reports = [...bytes].flatMap((byte) => frames.push(Buffer.from([byte])));
    expect(reports.map(({ denial }) => String(denial.path))).toEqual(['file:///x', 'file:///y']);
  });

  it.each([
    ['an unknown kind', { kind: 9 }],
    ['a strange mark', { missing: 2 }],
    ['a subject that is too long', { subject: 'x'.repeat(4097) }],
    ['a program that is too long', { program: 'x'.repeat(256) }],
    ['a reserved member that is used', { reserved: 1 }],
  ] as const)('are believed no more after %s', (_what, parts) => {
    const frames = new DenialFrames();
    expect(frames.push(Buffer.concat([frame(), frame(parts), frame()]))).toHaveLength(1);
    expect(frames.broken).toBe(true);
    expect(frames.push(frame())).toEqual([]);
  });

  it('are believed no more once there are more of them than a process may have', () => {
    const frames = new DenialFrames();
    const longest = frame({ subject: `/${'x'.repeat(4095)}`, program: 'p'.repeat(255) });
    for (let n = 0; n < 2 * limits.denialsPerProcess; n++) expect(frames.push(longest)).toHaveLength(1);
    expect(frames.push(longest)).toEqual([]);
  });
});
