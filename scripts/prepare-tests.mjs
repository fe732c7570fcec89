// What the tests run besides us: Python in recorded conversations, the parser of Prometheus for our metrics, nats-server between
// nodes of a rendezvous, zsh, and other releases of Node.
import { existsSync } from 'node:fs';
import { fetchOtherNodes } from './other-nodes.mjs';
import { ensureInstalled } from './system-packages.mjs';

const ready = ensureInstalled({
  purpose: 'the tests',
  packages: ['python3', 'python3-prometheus-client', 'nats-server', 'zsh'],
  isThere: () =>
    [
      '/usr/bin/python3',
      '/usr/lib/python3/dist-packages/prometheus_client',
      '/usr/sbin/nats-server',
      '/usr/bin/zsh',
    ].every(existsSync),
});
ensureInstalled({
  purpose: 'the test of the units in deploy/, which is skipped without it',
  packages: ['systemd'],
  isThere: () => existsSync('/usr/bin/systemd-analyze'),
});
await fetchOtherNodes();
process.exitCode = ready ? 0 : 1;
