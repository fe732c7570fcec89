import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** The native files of a release, if given: EXEC_SERVER_NATIVE=…/vendor/linux-x64-glibc/native */
const { EXEC_SERVER_NATIVE: released } = process.env;
const folder = released ? `${released}/` : fileURLToPath(new URL('../../../build/native/', import.meta.url));

const SHARED = 3; // a file that can be loaded at any address
const [LOAD, DYNAMIC, STACK, RELRO] = [1, 2, 0x6474e551, 0x6474e552];
const EXECUTABLE = 1;
const X64 = 62;
/** The instruction that reads the canary of a stack on x64, `mov %fs:0x28, …` or a comparison with it; it has no name to be stripped of. */
const CANARY = /d[HL][\x8b\x3b\x2b\x33][\s\S]%\(\0{3}/;
const [FLAGS, FLAGS_1] = [30n, 0x6ffffffbn];
const [BIND_NOW, NOW] = [8n, 1n];

interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly size: number;
}

/** The headers of a 64-bit little-endian ELF file. */
function headers(file: string) {
  const bytes = readFileSync(`${folder}${file}`);
  expect(bytes.subarray(0, 6).toString('latin1')).toBe('\x7fELF\x02\x01');
  const [start, size, count] = [Number(bytes.readBigUInt64LE(32)), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  const segments = Array.from({ length: count }, (_, number): Segment => {
    const at = start + number * size;
    return {
      type: bytes.readUInt32LE(at),
      flags: bytes.readUInt32LE(at + 4),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
  return {
    type: bytes.readUInt16LE(16),
    machine: bytes.readUInt16LE(18),
    segments,
    bindsNow: bindsNow(bytes, segments),
    text: bytes.toString('latin1'),
  };
}

function bindsNow(bytes: Buffer, segments: readonly Segment[]): boolean {
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  if (dynamic === undefined) return true; // nothing is bound at all
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const [tag, value] = [bytes.readBigUInt64LE(at), bytes.readBigUInt64LE(at + 8)];
    if ((tag === FLAGS && (value & BIND_NOW) !== 0n) || (tag === FLAGS_1 && (value & NOW) !== 0n)) return true;
  }
  return false;
}

/** Linked with musl where the machine has it. */
const fast = ['sandbox-stage', 'fs-helper', 'fs-watch', 'execve-wrapper', 'escalation-stub'];

describe.each(['exec_native.node', 'guardian', 'init', 'exec-broker', ...fast])('the native file %s', (file) => {
  const found = headers(file);

  it('has no memory that is both written and executed, nor a stack that is', () => {
    expect(found.segments.filter(({ type, flags }) => type === LOAD && (flags & 3) === 3)).toEqual([]);
    expect(found.segments.filter(({ type }) => type === STACK).map(({ flags }) => flags & EXECUTABLE)).toEqual([0]);
  });

  it('is position-independent and read-only after relocation, all at once', () => {
    expect(found.type).toBe(SHARED);
    expect(found.segments.some(({ type }) => type === RELRO)).toBe(true);
    expect(found.bindsNow).toBe(true);
  });

  it.skipIf(found.machine !== X64)('has code that looks after its stack, names or not', () => {
    expect(CANARY.test(found.text)).toBe(true);
  });

  // Released programs are static and have lost the names of their functions.
  const isNameless = Boolean(released) && file !== 'exec_native.node';
  it.skipIf(isNameless)('notices an overrun stack', () => {
    expect(found.text).toContain('__stack_chk_fail');
  });

  // musl has no copies that check.
  const isMusl = released?.includes('-musl') || (fast.includes(file) && !found.text.includes('GLIBC'));
  it.skipIf(isNameless || isMusl)('checks the room of what it copies to', () => {
    expect(found.text).toMatch(/__(?:mem(?:cpy|move|set)|v?s?n?printf|str(?:n?cpy|n?cat)|read|readlinkat?|poll)_chk/);
  });
});
