import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const quietBelow = 0.12;
const longestWaitMs = 4_000;

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  kernel: string;
  node: string;
  extraCaCertificates: boolean;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    extraCaCertificates: process.env.NODE_EXTRA_CA_CERTS !== undefined,
  };
}

/**
 * Waits, but not for ever, until no other program works on the machine, so that its work does not count in the sample.
 * Answers the busy share (0 to 1) it saw last.
 */
export async function quietMachine(signal: AbortSignal): Promise<number> {
  const deadline = performance.now() + longestWaitMs;
  let before = cpuTicks();
  for (;;) {
    await sleep(120, undefined, { signal });
    const now = cpuTicks();
    const busy = 1 - (now.idle - before.idle) / Math.max(1, now.total - before.total);
    if (busy <= quietBelow || performance.now() >= deadline) return busy;
    before = now;
  }
}

function cpuTicks(): { idle: number; total: number } {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n');
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { idle: ticks[3]! + ticks[4]!, total: ticks.reduce((sum, value) => sum + value, 0) };
}
