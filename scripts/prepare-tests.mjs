// Some recorded conversations run Python: `npm test` sees to it that there is one.
import { existsSync } from 'node:fs';
import { ensureInstalled } from './system-packages.mjs';

const ready = ensureInstalled({
  purpose: 'the tests',
  packages: ['python3'],
  isThere: () => existsSync('/usr/bin/python3'),
});
process.exitCode = ready ? 0 : 1;
