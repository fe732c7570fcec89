import { describe, expect, it } from 'vitest';
import { ExecError } from './errors.ts';

describe('an error on the wire', () => {
  it.each([
    ['invalidRequest', -32600],
    ['methodNotFound', -32601],
    ['invalidParams', -32602],
    ['internal', -32603],
    ['notFound', -32004],
    ['sessionAttached', -32010],
    ['stdinFull', -32011],
    ['forbidden', -32012],
  ] as const)('of kind %s has the code %i, both ways', (kind, code) => {
    expect(new ExecError(kind, 'why').toWire()).toEqual({ code, message: 'why' });
    expect(ExecError.fromWire({ code, message: 'why' })).toMatchObject({ kind, message: 'why' });
  });

  it('with an unknown code counts as internal', () => {
    expect(ExecError.fromWire({ code: -1, message: 'why' })).toMatchObject({ kind: 'internal', message: 'why' });
  });

  it('made of anything else that was thrown is internal and keeps its cause', () => {
    const cause = new TypeError('broken');
    const known = new ExecError('notFound', 'gone');

    expect(ExecError.from(cause)).toMatchObject({ kind: 'internal', message: 'broken', cause });
    expect(ExecError.from('text')).toMatchObject({ kind: 'internal', message: 'text', cause: 'text' });
    expect(ExecError.from(known)).toBe(known);
  });

  it('has its details only for peers that asked for them, and unknown details of a peer are ignored', () => {
    const error = new ExecError('notFound', 'why', { details: { errno: 'ENOENT' } }).with({ path: 'file:///x' });
    const data = { errno: 'ENOENT', path: 'file:///x' };

    expect(error.toWire()).toEqual({ code: -32004, message: 'why' });
    expect(error.toWire({ detailed: true })).toEqual({ code: -32004, message: 'why', data });
    expect(new ExecError('notFound', 'why').toWire({ detailed: true })).toEqual({ code: -32004, message: 'why' });
    expect(ExecError.fromWire({ code: -32004, message: 'why', data }).details).toEqual(data);
    for (const [odd, known] of [
      [{ errno: 2, subject: 'moon', path: null, searched: '/bin' }, { searched: '/bin' }],
      [{ subject: 'user' }, { subject: 'user' }],
      ['text', undefined],
      [null, undefined],
    ]) {
      expect(ExecError.fromWire({ code: -32004, message: 'why', data: odd as object }).details).toEqual(known);
    }
  });
});
