import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { presentable } from './presentable.ts';

describe('text shown to whoever decides', () => {
  it.each([
    ['API_TOKEN=abc123 deploy', 'API_TOKEN=*** deploy'],
    ['/bin/bash -c \'DB_PASSWORD="hunter2" psql\'', "/bin/bash -c 'DB_PASSWORD=*** psql'"],
    ['curl -H "Authorization: Bearer abcdefgh12345" x', 'curl -H "Authorization: Bearer ***" x'],
    ['tool --password hunter2 --verbose', 'tool --password *** --verbose'],
    ['tool --api-key=hunter2', 'tool --api-key=***'],
    ['git clone https://me:hunter2@host/x', 'git clone https://me:***@host/x'],
    ['echo ghp_0123456789abcdef', 'echo ***'],
  ])('hides the secret in %s', (text, shown) => {
    expect(presentable(text)).toBe(shown);
  });

  it.each([
    'TOKEN=$(rm -rf ~) tool',
    'TOKEN="$(rm -rf ~)" tool',
    'TOKEN=`id` tool',
    'tool --token-file /etc/shadow',
    'SECRET=~/.ssh/id tool',
    'TOKEN=a$(id)',
    'https://u:$(id)@host',
    'git log --author me',
    'rm -rf x',
  ])('hides nothing that a shell would run or a program would open: %s', (text) => {
    expect(presentable(text)).toBe(text);
  });

  it.each(['a-', 'token', ' --a-'])('is searched for secrets in one pass, also %j over and over', (piece) => {
    const text = piece.repeat(100_000);

    expect(presentable(text)).toBe(text);
  });

  it('spells out what a terminal would obey', () => {
    expect(presentable('a\x1b[2Kb\r\nc\u202ed')).toBe('a\\e[2Kb\\r\\nc\\u{202e}d');
  });

  it('never contains a control character', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !/[\p{Cc}\p{Cf}]/u.test(presentable(text))));
  });
});
