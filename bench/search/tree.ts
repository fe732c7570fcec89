import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** In one line of 20,000. */
export const RARE = 'rareThing_';

export interface PlantedTree {
  readonly files: number;
  readonly bytes: number;
  readonly lines: number;
}

/** A tree that looks like sources to a search: files of 1 to 64 KiB in directories of 40, lines of words as programs use them. */
export function plantTree(folder: string, wantedBytes: number): PlantedTree {
  const random = seeded(7);
  let files = 0;
  let bytes = 0;
  let lines = 0;
  while (bytes < wantedBytes) {
    const directory = join(folder, `part${Math.floor(files / 400)}`, `module${Math.floor(files / 40) % 10}`);
    if (files % 40 === 0) mkdirSync(directory, { recursive: true });
    const size = 1024 * 2 ** (random(1000) / 166);
    let text = '';
    for (; text.length < size; lines++) text += line(random, lines);
    writeFileSync(join(directory, `file${files}.ts`), text);
    bytes += text.length;
    files++;
  }
  return { files, bytes, lines };
}

type Random = (below: number) => number;

const WORDS = (
  'const return function value string number await async import export readonly this request answer path files for of if else ' +
  'length index result options error undefined true false new class private static number server client session the a is to'
).split(' ');

function line(random: Random, number: number): string {
  const words = Array.from({ length: 3 + random(9) }, () => WORDS[random(WORDS.length)]!);
  if (number % 20_000 === 19_999) words.push(`${RARE}${number};`);
  if (number % 1000 === 999) words.push('rareCase_', `${random(1000)}Item${random(10)}`);
  return `${' '.repeat(2 * random(5))}${words.join(random(3) === 0 ? '.' : ' ')}\n`;
}

/** A generator of whole numbers that gives the same ones each time. */
function seeded(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
