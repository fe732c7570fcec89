/** One instruction of the classic packet filter, as seccomp runs it. */
export interface Instruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly k: number;
}

const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;

const instruction = (code: number, k: number, jumpTrue = 0, jumpFalse = 0): Instruction => ({
  code,
  jumpTrue,
  jumpFalse,
  k: k >>> 0,
});

/** Offsets in `struct seccomp_data`, which a program reads. */
export const SYSCALL_NUMBER = 0;
export const ARCHITECTURE = 4;
/** The low half of an argument: both known architectures are little-endian. */
export const argument = (index: number): number => 16 + 8 * index;

export const load = (offset: number): Instruction => instruction(LOAD_WORD, offset);
export const and = (mask: number): Instruction => instruction(AND, mask);
export const finish = (action: number): Instruction => instruction(RETURN, action);

/** Runs `body` if the loaded word equals the value, and goes on after it otherwise. */
export function whenEqual(value: number, body: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_EQUAL, value, 0, body.length), ...body];
}

export function unlessEqual(value: number, body: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_EQUAL, value, body.length, 0), ...body];
}

export function whenAtLeast(value: number, body: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_AT_LEAST, value, 0, body.length), ...body];
}

export function whenAnyBit(bits: number, body: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_ANY_BIT, bits, 0, body.length), ...body];
}

/** The program as the kernel takes it. */
export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, jumpTrue, jumpFalse, k }, index) => {
    if (jumpTrue > 255 || jumpFalse > 255)
      throw new RangeError('a jump in a seccomp program is longer than 255 instructions');
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(k, index * 8 + 4);
  });
  return bytes;
}
