import { describe, expect, it } from 'vitest';
import { environmentProxy } from './proxy-tunnel.ts';

const proxyTo = (address: string, no_proxy: string): string | undefined =>
  environmentProxy(new URL(address), { all_proxy: 'http://proxy.example:3128', no_proxy })?.host;

describe('a proxy of the environment', () => {
  it.each([
    ['wss://host.example/', 'host.example'],
    ['wss://inner.host.example/', '.host.example'],
    ['wss://inner.host.example/', 'other, *.host.example'],
    ['wss://host.example/', 'HOST.example:443'],
    ['ws://127.0.0.1:8787/', '127.0.0.1'],
    ['ws://[::1]:8787/', '::1'],
    ['ws://[::1]:8787/', '[::1]'],
    ['ws://[::1]:8787/', '[::1]:8787'],
    ['wss://host.example/', '*'],
  ])('is not used for %s with no_proxy=%s', (address, list) => {
    expect(proxyTo(address, list)).toBeUndefined();
  });

  it.each([
    ['wss://host.example/', ''],
    ['wss://nothost.example/', 'host.example'],
    ['wss://host.example/', 'host.example:80'],
    ['ws://[::1]:8787/', '[::1]:80'],
    ['ws://[::1]:8787/', '::2'],
  ])('is used for %s with no_proxy=%s', (address, list) => {
    expect(proxyTo(address, list)).toBe('proxy.example:3128');
  });
});
