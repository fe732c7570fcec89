import { describe, expect, it } from 'vitest';
import { escalationQuestion } from './question.ts';

const asked = (path: string, ...args: (string | Buffer)[]): string =>
  escalationQuestion({
    path,
    args,
    workdir: '/w',
    realWorkdir: '/w',
    real: path,
    justification: undefined,
    outside: false,
    changed: [],
  }).message;

describe('a question', () => {
  it('shows what would run', () => {
    expect(asked('/usr/bin/git', 'push', 'a b')).toBe("Allow agent to run `/usr/bin/git push 'a b'` in `/w`?");
    expect(asked('/bin/ls')).toBe('Allow agent to run `/bin/ls` in `/w`?');
  });

  it('tells a path with a space from a path and an argument', () => {
    expect(asked('/w/git status')).not.toBe(asked('/w/git', 'status'));
  });

  it.each(['\n', '\u001b', '\u202e', '\u200b', '\u00a0', '\u3164', '\ufe0f', '\u2800', '\u3000', '\u{e0041}'])(
    'hides nothing behind %j',
    (character) => {
      const message = asked('/bin/echo', `a${character}b`);
      expect(message).not.toContain(character);
      expect(message).toMatch(/`\/bin\/echo \$'a\\(n|e|u[0-9a-f]{4}|U[0-9a-f]{8})b'`/);
    },
  );

  it('tells bytes that are no text apart', () => {
    const shown = (byte: number) => asked('/bin/echo', Buffer.from([byte]));

    expect(shown(0xff)).toContain("echo $'\\xff'`");
    expect(shown(0xff)).not.toBe(shown(0xfe));
  });
});
