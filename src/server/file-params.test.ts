import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeParams, type FileMethod, methods } from '../protocol/index.ts';
import { FileParams } from './file-params.ts';

const fileMethods = Object.keys(methods).filter((name) => name.startsWith('fs/')) as FileMethod[];

const uri = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('file:///a', 'file:///a%20b', '/native') },
  { weight: 1, arbitrary: fc.constantFrom('file:///%00', 'http://a/', 'nonsense', 'file:///a?b') },
);
const anything = fc.constantFrom<unknown>(null, true, 0, 2 ** 80, Number('9'.repeat(400)), '', 'text', [], {});
const entry = fc.record({
  path: fc.oneof(
    fc.record({ type: fc.constant('path'), path: uri }),
    fc.record({
      type: fc.constant('special'),
      value: fc.record({ kind: fc.constantFrom('root', 'minimal', 'project_roots') }),
    }),
    fc.record({ type: fc.constant('glob_pattern'), pattern: fc.constant('**/*.pem') }),
  ),
  access: fc.constantFrom('read', 'write', 'none'),
});
const sandbox = fc.oneof(
  { weight: 1, arbitrary: anything },
  { weight: 4, arbitrary: fc.constant(null) },
  {
    weight: 8,
    arbitrary: fc.record(
      {
        permissions: fc.record({
          type: fc.constantFrom('managed', 'disabled'),
          network: fc.constantFrom('restricted', 'enabled'),
          file_system: fc.record(
            {
              type: fc.constantFrom('restricted', 'unrestricted'),
              entries: fc.array(entry, { maxLength: 3 }),
              glob_scan_max_depth: fc.constantFrom<unknown>(null, 3, Number('9'.repeat(400))),
            },
            { requiredKeys: ['type', 'entries'] },
          ),
        }),
        cwd: uri,
        workspaceRoots: fc.array(uri, { maxLength: 2 }),
        unknown: anything,
      },
      { requiredKeys: ['permissions'] },
    ),
  },
);
const flag = fc.oneof({ weight: 20, arbitrary: fc.boolean() }, anything);
const bytes = fc.uint8Array({ maxLength: 40 });
const content = fc.oneof(
  { weight: 6, arbitrary: bytes.map((raw) => Buffer.from(raw).toString('base64')) },
  { weight: 6, arbitrary: bytes },
  { weight: 1, arbitrary: fc.constantFrom('?', 'YQ', 'YR==') },
  { weight: 1, arbitrary: anything },
);
const params = fc.oneof(
  { weight: 1, arbitrary: anything },
  {
    weight: 1,
    arbitrary: fc.constantFrom('sandboxPolicy', 'sandboxMode').map((name) => ({ path: 'file:///a', [name]: {} })),
  },
  {
    weight: 20,
    arbitrary: fc.record(
      {
        ...{ path: uri, sourcePath: uri, destinationPath: uri, sandbox, dataBase64: content },
        ...{ followSymlinks: flag, recursive: flag, force: flag, unknown: anything },
      },
      { requiredKeys: ['path', 'sourcePath', 'destinationPath'] },
    ),
  },
);

describe('parameters decoded without the schema', () => {
  it('are what the schema makes of them, or left to it', () => {
    const decoder = new FileParams(); // one for all, so that what it remembers is part of the test
    let decoded = 0;
    fc.assert(
      fc.property(fc.constantFrom(...fileMethods), params, (method, wire) => {
        const quick = decoder.decode(method, wire);
        if (quick === undefined) return;
        decoded++;
        expect(quick).toEqual(decodeParams(method, wire));
      }),
      { numRuns: 3000 },
    );
    expect(decoded).toBeGreaterThan(300);
  });

  it('hold one object for all sandboxes that are written alike', () => {
    const decoder = new FileParams();
    const decoded = (network: string) => {
      const wire = { permissions: { type: 'external', network }, cwd: 'file:///a' };
      return decoder.decode('fs/readFile', { path: 'file:///a', sandbox: wire })?.sandbox;
    };
    expect(decoded('restricted')).toBe(decoded('restricted'));
    expect(decoded('enabled')).not.toBe(decoded('restricted'));
    expect(decoded('enabled')).toMatchObject({ permissions: { network: 'enabled' } });
  });

  it('tell a number that is too large from none, which JSON would not', () => {
    const decoder = new FileParams();
    const decoded = (glob_scan_max_depth: number | null) => {
      const file_system = { type: 'restricted', entries: [], glob_scan_max_depth };
      const wire = { permissions: { type: 'managed', network: 'restricted', file_system } };
      return decoder.decode('fs/readFile', { path: 'file:///a', sandbox: wire });
    };
    expect(decoded(null)).toBeDefined();
    expect(decoded(Number.POSITIVE_INFINITY)).toBeUndefined();
  });

  it('are not made of the names that every object has', () => {
    expect(new FileParams().decode('constructor', { path: 'file:///a' })).toBeUndefined();
  });
});
