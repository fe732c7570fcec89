import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type FileChanges, RemoteFileSystem } from '../../src/client/index.ts';
import { PathUri } from '../../src/protocol/index.ts';
import { connect } from '../support/client-specification.ts';
import { randomFrom, seedFrom } from '../support/seeded.ts';
import { startServer } from '../support/server.ts';

const DIRECTORIES = 10_000;
const CHANGES = 100_000;

/** Which files exist, as the changes tell it. */
class ToldFiles {
  readonly exists = new Map<string, boolean>();
  renames = 0;
  overflows = 0;
  changes = 0;
  readonly #touched: ReadonlySet<string>;

  constructor(touched: ReadonlySet<string>) {
    this.#touched = touched;
  }

  apply({ changes, overflow }: FileChanges): void {
    if (overflow) {
      this.overflows++;
      for (const path of this.#touched) this.exists.set(path, existsSync(path)); // as a client that lists the tree anew
    }
    this.changes += changes.length;
    for (const { kind, path, from } of changes) {
      const at = fileURLToPath(path.href);
      this.exists.set(at, kind !== 'removed');
      if (kind !== 'renamed') continue;
      this.renames++;
      this.exists.set(fileURLToPath(from!.href), false);
    }
  }
}

it.each([
  ['a client that reads', 500],
  ['a client that seldom reads', 25_000],
])('tells %s every final state of 100,000 changes in 10,000 directories, or that some are lost', async (_, perTurn) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-watch-')));
  const seed = seedFrom('WATCH_SEED');
  const random = randomFrom(seed);
  try {
    const folders = Array.from({ length: DIRECTORIES }, (_, at) =>
      join(root, `d${at % 100}`, `e${Math.floor(at / 100)}`),
    );
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    await using server = await startServer();
    await using client = await connect(server.url);
    await using watch = await new RemoteFileSystem(client).watch(PathUri.fromNative(root), { recursive: true });
    const touched = new Set<string>();
    const told = new ToldFiles(touched);
    const last = join(root, 'last');
    const reading = (async () => {
      for await (const changes of watch) {
        told.apply(changes);
        if (told.exists.get(last)) return;
      }
    })();

    const place = (): string => join(folders[random(DIRECTORIES)]!, `f${random(3)}`);
    let renames = 0;
    for (let done = 0; done < CHANGES; ) {
      const one = place();
      const other = place();
      if (random(3) === 0 && existsSync(one)) {
        renameSync(one, other);
        touched.add(other);
        renames++;
      } else if (random(4) === 0 && existsSync(one)) rmSync(one);
      else writeFileSync(one, 'x', { flag: 'a' });
      touched.add(one);
      if (++done % perTurn === 0) await nextTurn();
    }
    writeFileSync(last, '');
    await reading;

    const wrong = [...touched].filter((path) => (told.exists.get(path) ?? false) !== existsSync(path));
    console.log(
      `seed ${seed}: ${told.changes} changes told, ${told.renames} of ${renames} renames, ${told.overflows} overflows`,
    );
    expect({ seed, wrong: wrong.slice(0, 5) }).toEqual({ seed, wrong: [] });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
