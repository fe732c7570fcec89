import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineTable } from './line-table.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const environment = fc.constantFrom('one', 'two');
const step = fc.oneof(
  fc.record({ does: fc.constant('set' as const), name, environment }),
  fc.record({ does: fc.constant('delete' as const), name, environment }),
);

describe('a table of lines', () => {
  it('finds by name and by environment exactly what was put in and not taken out', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const table = new LineTable<object>();
        const model = new Map<string, { environment: string; line: object }>();
        for (const { does, name, environment } of steps) {
          const line = { name, environment };
          if (does === 'set') model.set(name, { environment, line });
          else model.delete(name);
          if (does === 'set') table.set(name, environment, line);
          else table.delete(name);
        }
        const lines = [...model.values()];
        expect(table.size).toBe(model.size);
        expect(new Set(table.all())).toEqual(new Set(lines.map(({ line }) => line)));
        for (const [key, { line }] of model) expect(table.get(key)).toBe(line);
        for (const id of ['one', 'two', 'three']) {
          const expected = lines.filter(({ environment }) => environment === id).map(({ line }) => line);
          expect(new Set(table.of(id))).toEqual(new Set(expected));
        }
      }),
    );
  });
});
