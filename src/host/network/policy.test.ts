import { describe, expect, it } from 'vitest';
import { networkRules } from '../../../test/support/network-rules.ts';
import type { NetworkProxyRules } from '../../protocol/index.ts';
import { NetworkPolicy } from './policy.ts';

const policy = (rules: Partial<NetworkProxyRules>): NetworkPolicy => new NetworkPolicy(networkRules(rules));

describe('a network policy', () => {
  it('allows what is listed and nothing else', () => {
    const { baseline } = bound(policy({ domains: { 'a.example': 'allow', 'n.example': 'none' } }));

    expect([baseline('a.example'), baseline('n.example'), baseline('b.example')]).toEqual([
      'allow',
      'not_allowed',
      'not_allowed',
    ]);
  });

  it('lets deny win over allow', () => {
    const { baseline } = bound(policy({ domains: { '*': 'allow', '**.bad.example': 'deny' } }));

    expect([baseline('x.bad.example'), baseline('good.example')]).toEqual(['denied', 'allow']);
  });

  it('allows a local name only if it is listed without a wildcard', () => {
    const open = bound(policy({ domains: { '*': 'allow' } }));
    const listed = bound(policy({ domains: { '127.0.0.1': 'allow', localhost: 'allow' } }));
    const local = bound(policy({ domains: { '*': 'allow' }, allowLocalBinding: true }));
    const names = ['127.0.0.1', 'localhost', '10.0.0.1'];

    expect(names.map(open.baseline)).toEqual(['not_allowed_local', 'not_allowed_local', 'not_allowed_local']);
    expect(names.map(listed.baseline)).toEqual(['allow', 'allow', 'not_allowed_local']);
    expect(names.map(local.baseline)).toEqual(['allow', 'allow', 'allow']);
  });

  it('leaves hosts under review to the client, unless they are denied', () => {
    const domains = { '*': 'allow', 'bad.example': 'deny' } as const;
    const { baseline } = bound(policy({ domains, reviewDomains: ['*.r.example', 'bad.example'] }));

    expect([baseline('a.r.example'), baseline('bad.example'), baseline('o.example')]).toEqual([
      'not_allowed',
      'denied',
      'allow',
    ]);
  });

  it('refuses names with an address that is not public, or without addresses', () => {
    const subject = policy({ domains: { 'a.example': 'allow', localhost: 'allow' } });

    expect(subject.permits('a.example', ['8.8.8.8'])).toBe(true);
    expect(subject.permits('a.example', ['8.8.8.8', '10.0.0.1'])).toBe(false);
    expect(subject.permits('a.example', [])).toBe(false);
    expect(subject.permits('localhost', ['127.0.0.1', '::1'])).toBe(true);
    expect(subject.permits('localhost', ['10.0.0.1'])).toBe(false);
    expect(policy({ allowLocalBinding: true }).permits('a.example', ['10.0.0.1'])).toBe(true);
  });

  it('is refused when it denies everything or has an empty pattern', () => {
    expect(() => policy({ domains: { '*': 'deny' } })).toThrow(/^invalid network proxy config: .*denied_domains: \*/);
    expect(() => policy({ domains: { '': 'allow' } })).toThrow('invalid network proxy config: domain pattern is empty');
  });
});

function bound(subject: NetworkPolicy) {
  return { baseline: (host: string) => subject.baseline(host) };
}
