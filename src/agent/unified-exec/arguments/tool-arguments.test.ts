import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ArgumentsError } from './json-cursor.ts';
import { parseEnvironmentId, parseExecCommand, parseSessionId, parseWriteStdin } from './tool-arguments.ts';

/** The error messages of Codex 0.166.0 for these arguments. */
const complaints = JSON.parse(readFileSync(new URL('argument-complaints.json', import.meta.url), 'utf8')) as {
  exec_command: Record<string, string>;
  write_stdin: Record<string, string>;
};

function complaint(...parsers: ((text: string) => unknown)[]): (text: string) => string {
  return (text) => {
    try {
      for (const parse of parsers) parse(text);
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };
}

describe('arguments that cannot be read', () => {
  it.each(Object.entries(complaints.exec_command))('of exec_command, %j, get the usual complaint', (text, expected) => {
    expect(complaint(parseEnvironmentId, parseExecCommand)(text)).toBe(expected);
  });

  it.each(Object.entries(complaints.write_stdin))('of write_stdin, %j, get the usual complaint', (text, expected) => {
    expect(complaint(parseSessionId, parseWriteStdin)(text)).toBe(expected);
  });

  it('are never a surprise, and everything that is no JSON is refused', () => {
    const alphabet = fc.constantFrom(...'{}[]":,.-+eE01\\u \n', 'cmd', 'tty', 'true', 'null', 'x', 'é', '\ud83d');
    fc.assert(
      fc.property(
        fc.array(alphabet).map((parts) => parts.join('')),
        (text) => {
          try {
            parseExecCommand(text);
          } catch (error) {
            expect(error).toBeInstanceOf(ArgumentsError);
            return;
          }
          expect(() => JSON.parse(text) as unknown).not.toThrow();
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('may be nested as deep as they like', () => {
    const deep = `{"cmd":"x","more":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(parseExecCommand(deep)).toEqual({ cmd: 'x' });
  });
});

describe('arguments', () => {
  it('are what JSON says they are', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            cmd: fc.string({ unit: 'binary' }),
            workdir: fc.string(),
            tty: fc.boolean(),
            login: fc.boolean(),
            yield_time_ms: fc.nat(),
            prefix_rule: fc.array(fc.string()),
          },
          { requiredKeys: ['cmd'] },
        ),
        fc.json(),
        (args, other) => {
          const text = `{"other":${other},${JSON.stringify(args).slice(1)}`;
          expect(parseExecCommand(text)).toEqual(args);
        },
      ),
    );
  });

  it('may be null where they may be left out, of some kinds', () => {
    const nulls = ['workdir', 'shell', 'login', 'max_output_tokens', 'sandbox_permissions', 'justification'];
    const text = `{"cmd":"x",${nulls.map((name) => `"${name}":null`).join(',')}}`;
    expect(parseExecCommand(text).cmd).toBe('x');
  });

  it('name paths and the network as additional permissions', () => {
    const permissions = { network: { enabled: true }, file_system: { read: ['/a'], write: ['b'] } };
    const text = JSON.stringify({ cmd: 'x', additional_permissions: permissions });
    expect(parseExecCommand(text).additional_permissions).toEqual(permissions);
  });
});
