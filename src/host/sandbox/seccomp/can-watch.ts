import { spawnSync } from 'node:child_process';
import { once } from '../../../base/index.ts';
import { stageProgram } from '../launch/stage.ts';

/**
 * Whether refusals can be watched here. A task can have one seccomp listener: where this server runs under another, as in some
 * containers, the kernel refuses a second one (EBUSY). Tried once per process.
 */
export const canWatch = once(
  () => spawnSync(stageProgram(), ['probe'], { env: {}, stdio: 'ignore', timeout: LONGEST_PROBE_MS }).status === 0,
);

const LONGEST_PROBE_MS = 10_000;
