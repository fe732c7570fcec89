import { describe, expect, it } from 'vitest';
import { commandBlock } from './broker-protocol.ts';
import { execRequest } from './exec-request.ts';

const plain = { file: './x', argv: ['x', 'é'], workdir: '/w', env: { A: '1', B: 'x=y' } };
const encoded = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const fromWrapper = (request: object | string) => {
  const block = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
  return execRequest({ id: 1, pid: 2, via: 'wrapper', block });
};

describe('a request of a wrapper', () => {
  it('is judged and started by the same words', () => {
    expect(fromWrapper(plain)).toEqual({
      id: 1,
      pid: 2,
      via: 'wrapper',
      file: './x',
      argv: ['x', 'é'],
      workdir: '/w',
      env: Object.assign(Object.create(null), { A: '1', B: 'x=y' }),
      exact: {
        file: Buffer.from('./x'),
        argv: [Buffer.from('x'), Buffer.from('é')],
        workdir: Buffer.from('/w'),
        env: [Buffer.from('A=1'), Buffer.from('B=x=y')],
        umask: undefined,
        limits: [],
      },
      contradictory: false,
    });
  });

  it('has the umask and limits it names, as far as they make sense', () => {
    const rlimits = {
      nofile: ['10', 'unlimited'],
      rttime: ['1', '1'],
      cpu: [1, 2],
      core: ['x', '1'],
      stack: ['1'],
      as: ['99999999999999999999', '1'],
    };
    const request = fromWrapper({ ...plain, umask: 0o77, rlimits });

    expect(request!.exact).toMatchObject({ umask: 0o77, limits: [{ name: 'nofile', soft: 10n, hard: 'unlimited' }] });
    expect(fromWrapper({ ...plain, umask: -1 })!.exact.umask).toBeUndefined();
  });

  it('means its raw bytes when it has them', () => {
    const raw = {
      file: encoded('./x'),
      argv: [encoded('x'), encoded(Buffer.from([0xff]))],
      workdir: encoded('/w'),
      env: [encoded('A=1'), encoded('A=2')],
    };
    const request = fromWrapper({ ...plain, argv: ['x', '\ufffd'], raw });

    expect(request).toMatchObject({ argv: ['x', '\ufffd'], env: { A: '1' }, contradictory: false });
    expect(request!.exact.argv[1]).toEqual(Buffer.from([0xff]));
    expect(request!.exact.env.map(String)).toEqual(['A=1', 'A=2']);
  });

  it('contradicts itself when they say something else', () => {
    const raw = { file: encoded('/bin/rm'), argv: [encoded('rm')], workdir: encoded('/w'), env: [] };

    expect(fromWrapper({ ...plain, raw })).toMatchObject({ file: '/bin/rm', argv: ['rm'], contradictory: true });
  });

  it('cannot name a variable that every object has', () => {
    expect(fromWrapper({ ...plain, env: {} })!.env.constructor).toBeUndefined();
    const odd = fromWrapper('{"file":"x","argv":["x"],"workdir":"/","env":{"__proto__":"1"}}');
    expect(Object.entries(odd!.env)).toEqual([['__proto__', '1']]);
  });

  it.each([
    'x',
    '{}',
    '[]',
    'null',
    JSON.stringify({ ...plain, argv: [] }),
    JSON.stringify({ ...plain, argv: 'x' }),
    JSON.stringify({ ...plain, file: '' }),
    JSON.stringify({ ...plain, file: 'a\0b' }),
    JSON.stringify({ ...plain, env: { A: 1 } }),
    JSON.stringify({ ...plain, env: [] }),
    JSON.stringify({ ...plain, workdir: 'w' }),
    JSON.stringify({ ...plain, raw: [] }),
    JSON.stringify({ ...plain, raw: { file: 'eA==' } }),
  ])('is not understood as %s', (text) => {
    expect(fromWrapper(text)).toBeUndefined();
  });
});

describe('a request of the kernel', () => {
  it('is what the broker has read', () => {
    const exact = {
      file: Buffer.from('/bin/x'),
      argv: [Buffer.from('x'), Buffer.from(''), Buffer.from([0xff])],
      workdir: Buffer.from('/w'),
      env: [Buffer.from('A=1'), Buffer.from('odd')],
      umask: 0o22,
      limits: [{ name: 'core', soft: 0n, hard: 'unlimited' } as const],
    };
    const request = execRequest({ id: 3, pid: 4, via: 'kernel', block: commandBlock(exact) });

    expect(request).toMatchObject({
      id: 3,
      pid: 4,
      via: 'kernel',
      file: '/bin/x',
      argv: ['x', '', '\ufffd'],
      env: { A: '1' },
    });
    expect(request!.exact).toEqual(exact);
  });
});
