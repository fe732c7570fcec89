/** How much work each workload does. */
export interface Scale {
  rpcCalls: number;
  spawns: number;
  echoes: number;
  ticks: number;
  bulkMiB: number;
  lines: number;
  lineWrites: number;
  replays: number;
  stdinMiB: number;
  smallFileCalls: number;
  mediumFileCalls: number;
  largeFileCalls: number;
  directoryCalls: number;
  sandboxed: number;
  connections: number;
  liveProcesses: readonly number[];
  liveTerminals: number;
}

export const scales: Record<'full' | 'quick', Scale> = {
  full: {
    rpcCalls: 4000,
    spawns: 150,
    echoes: 250,
    ticks: 100,
    bulkMiB: 256,
    lines: 2_000_000,
    lineWrites: 300_000,
    replays: 60,
    stdinMiB: 64,
    smallFileCalls: 1000,
    mediumFileCalls: 40,
    largeFileCalls: 3,
    directoryCalls: 40,
    sandboxed: 20,
    connections: 200,
    liveProcesses: [1, 100, 500, 1000],
    liveTerminals: 200,
  },
  quick: {
    rpcCalls: 1200,
    spawns: 60,
    echoes: 60,
    ticks: 40,
    bulkMiB: 64,
    lines: 500_000,
    lineWrites: 50_000,
    replays: 20,
    stdinMiB: 16,
    smallFileCalls: 300,
    mediumFileCalls: 15,
    largeFileCalls: 1,
    directoryCalls: 20,
    sandboxed: 6,
    connections: 50,
    liveProcesses: [1, 100, 300],
    liveTerminals: 50,
  },
};
