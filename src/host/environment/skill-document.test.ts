import { describe, expect, it } from 'vitest';
import { parseSkillHead, parseSkillTerms } from './skill-document.ts';

const head = (front: string) => parseSkillHead(`---\n${front}\n---\nbody\n`, 'the folder');

describe('the head of a skill', () => {
  it('is its name, its description and a short one', () => {
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

  // The answers of Codex 0.166.0 to `capabilities/discoverV2`.
  it.each([
    ['use when: x happens', 'use when: x happens'],
    ["it's: b", "it's: b"],
    ['a: b # note', 'a: b'],
    ['a: b\\c "q"', 'a: b\\c "q"'],
    ['[x', '[x'],
    ['{b: c}', '{b: c}'],
    ['`code` first', '`code` first'],
    ['@name first', '@name first'],
    ['&x a: b', '&x a: b'],
    ['&x text', 'text'],
    ['!tag text', 'text'],
    ['1.50', '1.50'],
    ['one\n  two', 'one two'],
    ['>\n  one\n  two', 'one two'],
  ])('has the description %j as the reference reads it', (written, description) => {
    expect(head(`name: n\ndescription: ${written}`)?.description).toBe(description);
  });

  it.each([
    ...['[a, b]', '%x', '*x', '- x', '"x', '"x" y', "'a': b", '> x: y', 'ends with:', 'a: b\n  more', 'Null', '"\\q"'],
    'd\ndescription: e',
    'd\nmetadata: [x]',
    'd\nnot a pair',
  ])('is unusable with the description %j, as for the reference', (written) => {
    expect(head(`name: n\ndescription: ${written}`)).toBeUndefined();
  });
});

describe('the terms of a skill', () => {
  it('are the tools it needs and whether it may be used unasked', () => {
    const terms = parseSkillTerms(
      'dependencies:\n  tools:\n    - type: mcp\n      value: t\n      oauth: {callback_port: 8080}\n    - value: no type\npolicy:\n  allow_implicit_invocation: False\n  products: [CODEX]\n',
    );
    const absent = { description: null, transport: null, command: null, url: null };
    expect(terms).toEqual({
      dependencies: { tools: [{ type: 'mcp', value: 't', oauthCallbackPort: 8080, ...absent }] },
      policy: { allowImplicitInvocation: false, products: ['codex'] },
    });
  });

  it('are none without a file', () => {
    expect(parseSkillTerms(undefined)).toEqual({ dependencies: null, policy: null });
  });

  // The answers of Codex 0.166.0 to `capabilities/discoverV2`.
  it.each([
    'policy: [',
    'policy: {products: [sora]}',
    'policy: {products: [Codex]}',
    'policy: {allow_implicit_invocation: "false"}',
    'policy: {allow_implicit_invocation: 1}',
    'interface: x\npolicy: {allow_implicit_invocation: true}',
    'dependencies: {tools: x}\npolicy: {allow_implicit_invocation: true}',
    'dependencies: {tools: [{type: mcp, value: [v]}]}\npolicy: {}',
    'dependencies: {tools: [{type: mcp, value: v, oauth: {callback_port: "80"}}]}\npolicy: {}',
    'dependencies: {tools: [{type: mcp, value: v, oauth: {callback_port: 99999}}]}\npolicy: {}',
  ])('are none where %j is not valid in every part, as for the reference', (contents) => {
    expect(parseSkillTerms(contents)).toEqual({ dependencies: null, policy: null });
  });
});
