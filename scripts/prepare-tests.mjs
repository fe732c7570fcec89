// What the tests run besides us: Python in recorded conversations, nats-server between nodes of a rendezvous.
import { existsSync } from 'node:fs';
import { ensureInstalled } from './system-packages.mjs';

const ready = ensureInstalled({
  purpose: 'the tests',
  packages: ['python3', 'nats-server'],
  isThere: () => existsSync('/usr/bin/python3') && existsSync('/usr/sbin/nats-server'),
});
process.exitCode = ready ? 0 : 1;
