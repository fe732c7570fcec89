import { expect, it } from 'vitest';
import { decodeParams } from './methods.ts';

const call = (fileSystem: object = {}) => ({
  path: 'file:///srv/notes.txt',
  sandbox: {
    permissions: {
      type: 'managed',
      file_system: {
        type: 'restricted',
        entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
        ...fileSystem,
      },
      network: 'restricted',
    },
  },
});

it('a decoded sandbox cannot be changed for the requests that carry an equal one', () => {
  const { sandbox } = decodeParams('fs/readFile', call());
  const { permissions } = sandbox!;
  if (permissions.type !== 'managed' || permissions.file_system.type !== 'restricted')
    throw new Error('another profile');
  const { entries } = permissions.file_system;

  expect(() => entries.push({ ...entries[0]!, access: 'write' })).toThrow(TypeError);
  expect(() => Object.assign(permissions, { network: 'enabled' })).toThrow(TypeError);
  expect(() => Object.assign(entries[0]!.path, { value: { kind: 'tmpdir' } })).toThrow(TypeError);
});

it('a number beyond the range of JavaScript is refused after an equal sandbox with null was decoded', () => {
  decodeParams('fs/readFile', call({ glob_scan_max_depth: null }));

  const endless = JSON.parse('9'.repeat(400));
  expect(() => decodeParams('fs/readFile', call({ glob_scan_max_depth: endless }))).toThrow('invalid type: number');
});
