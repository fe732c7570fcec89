import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { workloadMark } from './client.ts';

const ticksPerSecond = 100; // USER_HZ, the same on every Linux

export interface Memory {
  rssMiB: number;
  /** Written by the server, hence its alone: unlike the next two it does not depend on who else runs the same binary. */
  dirtyMiB: number;
  privateMiB: number;
  pssMiB: number;
  peakRssMiB: number;
  threads: number;
  /** Open descriptors of the server process itself. */
  descriptors: number;
}

/** What a server and its helper processes use, read from /proc. The processes it runs for the benchmark do not count. */
export class ProcessTree {
  readonly #root: number;

  constructor(root: number) {
    this.#root = root;
  }

  /** CPU of the living, and of the children they have waited for (those include the benchmark's processes). */
  cpuSeconds(): { own: number; reaped: number } {
    let own = 0;
    let reaped = 0;
    for (const pid of this.#members()) {
      const stat = read(`${pid}/stat`);
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = (first: number) => (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / ticksPerSecond;
      // Neither counts too much: ticks are rounded down, and a thread's nanoseconds are gone when it ends.
      own += Math.max(ticks(11), threadSeconds(pid));
      reaped += ticks(13);
    }
    return { own, reaped };
  }

  memory(): Memory {
    const sum = { rssMiB: 0, dirtyMiB: 0, privateMiB: 0, pssMiB: 0, peakRssMiB: 0, threads: 0 };
    for (const pid of this.#members()) {
      const status = read(`${pid}/status`);
      const rollup = read(`${pid}/smaps_rollup`);
      sum.rssMiB += field(status, 'VmRSS') / 1024;
      sum.peakRssMiB += field(status, 'VmHWM') / 1024;
      sum.threads += field(status, 'Threads');
      sum.dirtyMiB += field(rollup, 'Private_Dirty') / 1024;
      sum.pssMiB += field(rollup, 'Pss') / 1024;
      sum.privateMiB += (field(rollup, 'Private_Clean') + field(rollup, 'Private_Dirty')) / 1024;
    }
    return { ...sum, descriptors: list(`${this.#root}/fd`).length };
  }

  resetPeak(): void {
    for (const pid of this.#members()) {
      try {
        writeFileSync(`/proc/${pid}/clear_refs`, '5'); // 5 resets VmHWM to the current size
      } catch {} // it has just ended
    }
  }

  /** The processes below the server that run the benchmark's commands. */
  workloadProcesses(): number[] {
    return this.#walk(() => true).filter(runsWorkload);
  }

  #members(): number[] {
    return this.#walk((pid) => !runsWorkload(pid));
  }

  #walk(enter: (pid: number) => boolean): number[] {
    const found: number[] = [];
    const queue = [this.#root];
    for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
      if (pid !== this.#root && !enter(pid)) continue;
      found.push(pid);
      for (const tid of list(`${pid}/task`)) queue.push(...numbers(read(`${pid}/task/${tid}/children`)));
    }
    return found;
  }
}

export function runsWorkload(pid: number): boolean {
  return read(`${pid}/environ`).split('\0').includes(workloadMark);
}

function threadSeconds(pid: number): number {
  const nanoseconds = list(`${pid}/task`).map((tid) => Number(read(`${pid}/task/${tid}/schedstat`).split(' ')[0]));
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}

/** A process may end between being listed and being read: it then counts as empty. */
function read(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(`/proc/${path}`);
  } catch {
    return []; // as in read()
  }
}

function numbers(text: string): number[] {
  return text.split(' ').filter(Boolean).map(Number);
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}
