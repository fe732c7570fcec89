import { describe, expect, it } from 'vitest';
import { question } from './question.ts';

const asked = (path: string, ...args: string[]): string =>
  question({
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
      expect(message).toContain(`\\u{${character.codePointAt(0)!.toString(16)}}`);
    },
  );
});
