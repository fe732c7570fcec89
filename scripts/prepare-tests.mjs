// What the tests run besides us: Python in recorded conversations, nats-server between nodes of a rendezvous, and zsh.
import { existsSync } from 'node:fs';
import { ensureInstalled } from './system-packages.mjs';

const ready = ensureInstalled({
  purpose: 'the tests',
  packages: ['python3', 'nats-server', 'zsh'],
  isThere: () => ['/usr/bin/python3', '/usr/sbin/nats-server', '/usr/bin/zsh'].every(existsSync),
});
process.exitCode = ready ? 0 : 1;
