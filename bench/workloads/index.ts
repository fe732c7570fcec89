import { acknowledgedAtOnce, type Workload } from '../workload.ts';
import { bulk8, bulkPipe, bulkSlow, bulkTty, bulkVerify } from './bulk.ts';
import { fsBulk, fsDirs, fsSmall } from './files.ts';
import { echo, firstByte } from './latency.ts';
import { lines } from './lines.ts';
import { burst, connections, live, liveTty } from './population.ts';
import { read } from './read.ts';
import { rpc } from './rpc.ts';
import { sandbox } from './sandbox.ts';
import { spawn, spawnTty } from './spawn.ts';
import { startup } from './startup.ts';
import { stdin } from './stdin.ts';

/** Every workload, in the order it runs. */
export const workloads: Readonly<Record<string, Workload>> = {
  startup,
  rpc,
  spawn,
  'spawn-tty': spawnTty,
  'first-byte': firstByte,
  echo,
  'spawn-acked': acknowledgedAtOnce(spawn),
  'spawn-tty-acked': acknowledgedAtOnce(spawnTty),
  'first-byte-acked': acknowledgedAtOnce(firstByte),
  'echo-acked': acknowledgedAtOnce(echo),
  'bulk-pipe': bulkPipe,
  'bulk-tty': bulkTty,
  'bulk-8': bulk8,
  'bulk-slow': bulkSlow,
  'bulk-verify': bulkVerify,
  lines,
  read,
  'read-acked': acknowledgedAtOnce(read),
  stdin,
  'fs-small': fsSmall,
  'fs-bulk': fsBulk,
  'fs-dirs': fsDirs,
  sandbox,
  connections,
  live,
  burst,
  'live-tty': liveTty,
};
