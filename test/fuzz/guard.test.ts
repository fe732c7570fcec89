import { describe, expect, it } from 'vitest';
import { isSafe } from './guard.ts';

const options = { folder: '/scratch/fuzz', processIds: new Set(['mine']) };
const safe = (message: unknown): boolean =>
  isSafe(typeof message === 'string' ? message : JSON.stringify(message), options);
const call = (method: string, params: unknown) => ({ id: 1, method, params });
const start = (changes: object) =>
  call('process/start', { argv: ['/bin/true'], cwd: 'file:///scratch/fuzz', ...changes });

describe('the guard of the fuzzer', () => {
  it('lets through starts of exactly the harmless commands', () => {
    expect(safe(start({}))).toBe(true);
    expect(safe(start({ argv: ['/bin/sleep', '0.01'] }))).toBe(true);
    expect(safe(start({ argv: [] }))).toBe(true);
    expect(safe(start({ argv: ['/bin/sleep', '9'] }))).toBe(false);
    expect(safe(start({ argv: ['/bin/rm', '-rf', '/'] }))).toBe(false);
    expect(safe(start({ argv: ['true'] }))).toBe(false);
    expect(safe(start({ cwd: 'file:///' }))).toBe(false);
    expect(safe(start({ mode: 'prepared', request: { argv: ['/bin/ls'], cwd: 'file:///scratch/fuzz' } }))).toBe(false);
  });

  it('lets file methods touch the folder only', () => {
    expect(safe(call('fs/writeFile', { path: 'file:///scratch/fuzz/a' }))).toBe(true);
    for (const path of [
      'file:///etc/passwd',
      '/etc/passwd',
      'file:///scratch/fuzz/../a',
      'file:///scratch/fuzz2',
      'FILE:///etc',
      ' file:///etc',
      'file:///scratch/fuzz/%2e%2e/a',
    ]) {
      expect(safe(call('fs/remove', { path }))).toBe(false);
    }
    expect(safe(call('fs/copy', { sourcePath: 'file:///scratch/fuzz/a', destinationPath: 'file:///b' }))).toBe(false);
    expect(safe(call('fs/newMethod', { deep: [{ path: '/etc' }] }))).toBe(false);
    expect(safe(call('fs/remove', {}))).toBe(true);
  });

  it('lets signals reach own processes only', () => {
    expect(safe(call('process/signal', { processId: 'mine', signal: 'kill' }))).toBe(true);
    expect(safe(call('process/terminate', { processId: 'other' }))).toBe(false);
  });

  it('lets requests go to loopback only', () => {
    expect(safe(call('http/request', { url: 'http://127.0.0.1:9/x' }))).toBe(true);
    for (const url of [
      'http://example.com/',
      'http://127.0.0.1:9@example.com/',
      'https://127.0.0.1:9/',
      'http://127.0.0.1.example.com/',
    ]) {
      expect(safe(call('http/request', { url }))).toBe(false);
    }
  });

  it('holds back what parsers could read differently', () => {
    expect(safe('{"id":1,"method":"process/start","params":{"argv":["/bin/ls"],"argv":["/bin/true"]}}')).toBe(false);
    expect(safe('{"id":1,"method":"fs/remove","params":{"path":"file:///etc"')).toBe(false);
    expect(safe('{"id":1,"id":2,"method":"environment/status"}')).toBe(true);
    expect(safe('{"id":1,"method":"process\\/st\\u0061rt","params":{"argv":["/bin/ls"]}')).toBe(false);
    expect(isSafe(Buffer.from(`\ufeff${JSON.stringify(start({ argv: ['/bin/ls'] }))}`), options)).toBe(false);
    expect(safe('nonsense')).toBe(true);
    expect(safe('{"id":1,"method":"environment/status"')).toBe(true);
  });
});
