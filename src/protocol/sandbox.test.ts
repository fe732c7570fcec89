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

it('a number beyond the range of JavaScript is refused after an equal sandbox with null was decoded', () => {
  decodeParams('fs/readFile', call({ glob_scan_max_depth: null }));

  const endless = JSON.parse('9'.repeat(400));
  expect(() => decodeParams('fs/readFile', call({ glob_scan_max_depth: endless }))).toThrow('invalid type: number');
});
