import { describe, expect, it } from 'vitest';
import { DEFAULT_LISTEN_URL, ExecServerListenUrlParseError, isLoopback, parseListenUrl } from './listen-url.ts';

describe('a listen URL', () => {
  it.each([
    ['stdio', { type: 'stdio' }],
    ['stdio://', { type: 'stdio' }],
    ['ws://127.0.0.1:0', { type: 'websocket', secure: false, host: '127.0.0.1', port: 0 }],
    ['ws://0.0.0.0:65535', { type: 'websocket', secure: false, host: '0.0.0.0', port: 65_535 }],
    ['ws://[::1]:8080', { type: 'websocket', secure: false, host: '::1', port: 8080 }],
    ['wss://[::1]:443', { type: 'websocket', secure: true, host: '::1', port: 443 }],
    ['fd:3', { type: 'inherited', descriptor: 3 }],
    ['unix:/run/exec server.sock', { type: 'unix', path: '/run/exec server.sock' }],
  ])('%s names an address', (text, address) => {
    expect(parseListenUrl(text)).toEqual(address);
  });

  it('is a free port on loopback when none is given', () => {
    expect(DEFAULT_LISTEN_URL).toBe('ws://127.0.0.1:0');
  });

  it.each(['', 'http://127.0.0.1:0', 'WS://127.0.0.1:0', '127.0.0.1:0', 'stdio:', 'UNIX:/x'])(
    '%j has an unsupported scheme',
    (text) => {
      expect(() => parseListenUrl(text)).toThrow(
        new ExecServerListenUrlParseError(
          `unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\`, \`wss://IP:PORT\`, \`unix:/PATH\`, \`systemd:NAME\`, \`fd:N\` or \`stdio\``,
        ),
      );
    },
  );

  it.each([
    'ws://',
    'ws://localhost:0',
    'ws://127.0.0.1',
    'ws://127.0.0.1:',
    'ws://127.0.0.1:65536',
    'ws://127.0.0.1:x',
    'ws://127.0.0.1:0/',
    'ws://127.0.0.1:0/path',
    'ws://127.1:0',
    'ws://256.0.0.1:0',
    'ws://::1:0',
    'ws://[127.0.0.1]:0',
    'ws://user@127.0.0.1:0',
  ])('%j is refused for want of a valid IP address and port', (text) => {
    expect(() => parseListenUrl(text)).toThrow(
      new ExecServerListenUrlParseError(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``),
    );
  });

  it('of TLS is refused with its own scheme in the text', () => {
    expect(() => parseListenUrl('wss://localhost:0')).toThrow('expected `wss://IP:PORT`');
  });

  it.each([
    ['unix:', 'expected the absolute path of a socket'],
    ['unix:relative', 'expected the absolute path of a socket'],
    ['unix:///x', 'expected the absolute path of a socket'],
    ['unix:/folder/', 'expected the absolute path of a socket'],
    [`unix:/${'x'.repeat(107)}`, 'the path of a socket has at most 107 bytes'],
  ])('%j is refused for its path', (text, reason) => {
    expect(() => parseListenUrl(text)).toThrow(reason);
  });

  it('on 127.0.0.0/8 or ::1, mapped to IPv6 or not, is loopback', () => {
    const hosts = ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '0.0.0.0', '::', '10.0.0.1', '128.0.0.1'];

    expect(hosts.filter(isLoopback)).toEqual(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']);
  });
});
