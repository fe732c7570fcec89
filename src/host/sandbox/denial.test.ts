import { describe, expect, it } from 'vitest';
import { looksDenied, type OutputPieces, showsOnlyDenial } from './denial.ts';

const printed = (...pieces: [stream: 'stdout' | 'stderr' | 'pty', text: string][]): OutputPieces =>
  pieces.map(([stream, text]) => ({ stream, bytes: Buffer.from(text) }));

describe('a failure looks like a denial', () => {
  it.each([
    'Operation not permitted',
    'PERMISSION DENIED',
    'Read-only file system',
    'seccomp',
    'Sandbox',
    'landlock',
    'failed to write file',
  ])('when the command says "%s" on any stream', (words) => {
    for (const stream of ['stdout', 'stderr', 'pty'] as const) {
      expect(looksDenied(1, printed([stream, `x: ${words}\n`]))).toBe(true);
    }
  });

  it('when the words are spread over chunks or streams in the order they came', () => {
    expect(looksDenied(1, printed(['stderr', 'Permission '], ['stdout', 'x'], ['stderr', 'denied']))).toBe(true);
    expect(looksDenied(1, printed(['stdout', 'permission '], ['stderr', 'denied']))).toBe(true);
  });

  it.each([2, 126, 127])('also with exit code %i, if it says so', (exitCode) => {
    expect(looksDenied(exitCode, printed(['stderr', 'permission denied']))).toBe(true);
    expect(looksDenied(exitCode, printed(['stderr', 'no']))).toBe(false);
  });

  it('when the filter of system calls killed it', () => {
    expect(looksDenied(159, [])).toBe(true);
  });
});

describe('a failure does not look like a denial', () => {
  it.each([
    'access is denied',
    'not permitted',
    'EPERM',
    'EACCES',
    'network is unreachable',
    'device or resource busy',
  ])('when the command says "%s"', (words) => {
    expect(looksDenied(1, printed(['stderr', words]))).toBe(false);
  });

  it('when the command succeeded', () => {
    expect(looksDenied(0, printed(['stderr', 'permission denied']))).toBe(false);
  });

  it.each([
    'exec-server: cannot run sandbox-tool: No such file or directory\n',
    'exec-server: the sandbox cannot be built: x is a symbolic link\n',
    'exec-server: cannot enter the working directory /x: Permission denied\r\n',
    "bwrap: Can't mkdir /x: Permission denied\n",
  ])('when the command never ran: %s', (line) => {
    expect(looksDenied(1, printed(['stderr', line]))).toBe(false);
    expect(looksDenied(1, printed(['stderr', line], ['stderr', 'sandbox\n']))).toBe(true);
  });
});

describe('a denied command', () => {
  it.each([
    ["touch: cannot touch '/x': Read-only file system\n", true],
    ['sh: 1: cannot create /x: PERMISSION DENIED\nsh: 1: cannot create /y: Operation not permitted\n', true],
    ['', true],
    ["started\ntouch: cannot touch '/x': Read-only file system\n", false],
  ])('that prints %j has shown nothing else: %s', (text, expected) => {
    expect(showsOnlyDenial(text)).toBe(expected);
  });
});
