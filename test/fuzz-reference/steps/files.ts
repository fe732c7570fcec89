import type { RandomSource } from '../random-source.ts';
import type { Params, Place } from '../step.ts';
import { path } from './paths.ts';
import { sandbox } from './sandboxes.ts';

type Call = readonly [method: string, params?: Params];

export const chunk = (random: RandomSource): unknown =>
  random.usually(['', 'YQ==', 'aGVsbG8=', 'aGkK', 'AAEC/w=='], ['YQ', '*', 'YR==', 'YQ=', '_-==', 'Y Q==', null]);

const flag = (random: RandomSource): unknown => random.pick([true, false, undefined, undefined]);

/** A request about files, now and then with a sandbox. */
export function fileCall(random: RandomSource, { base }: Place): Call {
  const where = () => path(random, base);
  const held = () => (random.oneIn(10) ? sandbox(random, base) : undefined);
  const calls: readonly (() => Call)[] = [
    () => ['fs/readFile', { path: where(), followSymlinks: flag(random), sandbox: held() }],
    () => ['fs/writeFile', { path: where(), dataBase64: chunk(random), followSymlinks: flag(random), sandbox: held() }],
    () => [
      'fs/createDirectory',
      { path: where(), recursive: flag(random), followSymlinks: flag(random), sandbox: held() },
    ],
    () => ['fs/getMetadata', { path: where(), followSymlinks: flag(random), sandbox: held() }],
    () => ['fs/canonicalize', { path: where(), sandbox: held() }],
    () => ['fs/readDirectory', { path: where(), sandbox: held() }],
    () => ['fs/walk', { path: where(), options: walkOptions(random), sandbox: held() }],
    () => [
      'fs/remove',
      { path: where(), recursive: flag(random), force: flag(random), followSymlinks: flag(random), sandbox: held() },
    ],
    () => [
      'fs/copy',
      {
        sourcePath: where(),
        destinationPath: where(),
        recursive: random.usually([true, false], [undefined]),
        sandbox: held(),
      },
    ],
    () => ['fs/open', openParams(random, base, held())],
    () => ['fs/open', openParams(random, base, held())],
    () => ['fs/readBlock', { handleId: handle(random), offset: random.below(8), len: random.pick([1, 5, 4096]) }],
    () => ['fs/readBlock', { handleId: handle(random), offset: random.below(8), len: random.pick([0, 1_048_577]) }],
    () => ['fs/writeBlock', { handleId: handle(random), offset: random.below(8), chunk: chunk(random) }],
    () => ['fs/close', { handleId: handle(random) }],
    () => ['fs/watchMissing', watchParams(random, base)],
    () => ['fs/watchMissing', watchParams(random, base)],
  ];
  return random.pick(calls)();
}

const handle = (random: RandomSource): string => `h${random.below(2)}`;

const openParams = (random: RandomSource, base: string, sandbox: unknown): Params => ({
  handleId: random.usually([handle(random)], ['', 'x'.repeat(33), 'ü'.repeat(16)]),
  path: path(random, base),
  mode: random.usually(['read', 'replace', undefined], ['Read', 'truncate', null]),
  sandbox,
});

const walkOptions = (random: RandomSource): Params => ({
  maxDepth: random.usually([0, 1, 2, 64], [65]),
  maxDirectories: random.usually([1, 2, 3, 10_000], [0, 10_001]),
  maxEntries: random.usually([1, 2, 5, 50_000], [0, 50_001]),
  followDirectorySymlinks: random.oneIn(2),
  pruneHiddenDirectories: flag(random),
});

/** Small numbers, so that old ones come again. */
const watchParams = (random: RandomSource, base: string): Params => ({
  watchId: random.below(6),
  missing: Array.from({ length: random.usually([1, 1, 2, 3], [0, 65]) }, () => path(random, base)),
  present: random.oneIn(3) ? path(random, base) : undefined,
});
