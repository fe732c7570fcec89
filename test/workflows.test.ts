import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../.github/workflows/', import.meta.url));

it.each(readdirSync(folder))('%s uses actions of others by their digest alone, with the version beside it', (file) => {
  const uses = readFileSync(`${folder}${file}`, 'utf8').match(/uses:.*/g) ?? [];

  expect(uses.length).toBeGreaterThan(0);
  expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});
