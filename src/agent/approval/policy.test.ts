import { describe, expect, it } from 'vitest';
import { parseApprovalPolicy } from './policy.ts';

const off = {
  sandbox_approval: false,
  rules: false,
  skill_approval: false,
  request_permissions: false,
  mcp_elicitations: false,
};

describe('an approval policy', () => {
  it.each([
    ['never', 'never'],
    ['on-request', 'on-request'],
    ['on-failure', 'on-request'],
    ['untrusted', 'untrusted'],
  ])('is spelled %s', (text, policy) => {
    expect(parseApprovalPolicy(text)).toBe(policy);
  });

  it('names what may be asked about after granular:', () => {
    expect(parseApprovalPolicy('granular:rules,sandbox_approval')).toEqual({
      granular: { ...off, rules: true, sandbox_approval: true },
    });
    expect(parseApprovalPolicy('granular:')).toEqual({ granular: off });
  });

  it('is an object in configuration, where the kinds that came later may be left out', () => {
    expect(parseApprovalPolicy({ granular: { sandbox_approval: true, rules: false, mcp_elicitations: true } })).toEqual(
      { granular: { ...off, sandbox_approval: true, mcp_elicitations: true } },
    );
  });

  it.each([
    ['always', "invalid approval policy 'always': expected never, on-request, untrusted or granular:LIST"],
    ['toString', 'invalid approval policy'],
    ['granular:everything', "unknown kind of approval 'everything'; known are sandbox_approval, rules"],
    [null, 'invalid approval policy null'],
    [{ granular: true }, 'invalid approval policy'],
    [{ granular: { ...off, rules: 'yes' } }, 'granular.rules must be true or false, not "yes"'],
    [{ granular: { sandbox_approval: true, rules: true } }, 'granular.mcp_elicitations is missing'],
    [{ granular: off, never: 1 }, 'invalid approval policy'],
  ])('is not %j', (value, message) => {
    expect(() => parseApprovalPolicy(value)).toThrow(message);
  });
});
