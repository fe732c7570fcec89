import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SocketTable } from './socket-table.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const environment = fc.constantFrom('one', 'two');
const step = fc.oneof(
  fc.record({ does: fc.constant('set' as const), name, environment }),
  fc.record({ does: fc.constant('delete' as const), name, environment }),
);

describe('a table of sockets', () => {
  it('finds by name and by environment exactly the sockets that were set and not deleted', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const table = new SocketTable<object>();
        const model = new Map<string, { environment: string; socket: object }>();
        for (const { does, name, environment } of steps) {
          const socket = { name, environment };
          if (does === 'set') model.set(name, { environment, socket });
          else model.delete(name);
          if (does === 'set') table.set(name, environment, socket);
          else table.delete(name);
        }
        const sockets = [...model.values()];
        expect(table.size).toBe(model.size);
        expect(new Set(table.all())).toEqual(new Set(sockets.map(({ socket }) => socket)));
        for (const [key, { socket }] of model) expect(table.get(key)).toBe(socket);
        for (const id of ['one', 'two', 'three']) {
          const expected = sockets.filter(({ environment }) => environment === id).map(({ socket }) => socket);
          expect(new Set(table.of(id))).toEqual(new Set(expected));
        }
      }),
    );
  });
});
