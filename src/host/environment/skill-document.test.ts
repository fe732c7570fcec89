import { describe, expect, it } from 'vitest';
import { parseSkillHead, parseSkillTerms } from './skill-document.ts';

const head = (front: string) => parseSkillHead(`---\n${front}\n---\nbody\n`, 'the folder');

describe('the head of a skill', () => {
  it('is its name, what it is for, and that in short', () => {
    expect(head('name: pdf\ndescription: reads  papers\nmetadata:\n  short-description: papers')).toEqual({
      name: 'pdf',
      description: 'reads papers',
      shortDescription: 'papers',
    });
  });

  it('takes the name of the folder where it has none', () => {
    expect(head('description: d')?.name).toBe('the folder');
    expect(head('name: ""\ndescription: d')?.name).toBe('the folder');
  });

  it('is unusable without a description, or with a name of more than 64 characters', () => {
    expect(head('name: n')).toBeUndefined();
    expect(head(`name: ${'n'.repeat(65)}\ndescription: d`)).toBeUndefined();
    expect(head(`name: ${'n'.repeat(64)}\ndescription: d`)).toBeDefined();
    expect(parseSkillHead('name: n\ndescription: d\n', 'f')).toBeUndefined();
  });
});

describe('the terms of a skill', () => {
  it('are the tools it needs and whether it may be used unasked', () => {
    const terms = parseSkillTerms(
      'dependencies:\n  tools:\n    - type: mcp\n      value: t\n      oauth_callback_port: 8080\n    - value: no type\npolicy:\n  allow_implicit_invocation: false\n',
    );
    const absent = { description: null, transport: null, command: null, url: null };
    expect(terms).toEqual({
      dependencies: { tools: [{ type: 'mcp', value: 't', oauthCallbackPort: 8080, ...absent }] },
      policy: { allowImplicitInvocation: false, products: [] },
    });
  });

  it('are none where nothing is said', () => {
    expect(parseSkillTerms(undefined)).toEqual({ dependencies: null, policy: null });
    expect(parseSkillTerms('policy: [\n')).toEqual({ dependencies: null, policy: null });
  });
});
