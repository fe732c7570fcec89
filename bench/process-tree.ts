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
  readonly #server: number;
  readonly #reaper: number | undefined;

  /** The reaper, if there is one, is what started the server and waits for the processes that lost their parent. */
  constructor(server: number, reaper?: number) {
    this.#server = server;
    this.#reaper = reaper;
  }

  /** As started by a reaper, whose oldest child is the server. */
  static below(reaper: number): ProcessTree {
    return new ProcessTree(childrenOf(reaper)[0] ?? reaper, reaper);
  }

  get server(): number {
    return this.#server;
  }

  /**
   * CPU of the living, and of every process below the server that has ended and was waited for, by its parent or by the
   * reaper; the benchmark's commands are among the latter.
   */
  cpuSeconds(): { own: number; reaped: number } {
    let own = 0;
    let reaped = this.#reaper === undefined ? 0 : ticksOf(this.#reaper).reaped;
    for (const pid of this.#members()) {
      const ticks = ticksOf(pid);
      // Neither counts too much: ticks are rounded down, and a thread's nanoseconds are gone when it ends.
      own += Math.max(ticks.own, threadSeconds(pid));
      reaped += ticks.reaped;
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
    return { ...sum, descriptors: list(`${this.#server}/fd`).length };
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
    const queue = this.#reaper === undefined ? [this.#server] : childrenOf(this.#reaper);
    for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
      if (pid !== this.#server && !enter(pid)) continue;
      found.push(pid);
      queue.push(...childrenOf(pid));
    }
    return found;
  }
}

export function runsWorkload(pid: number): boolean {
  return read(`${pid}/environ`).split('\0').includes(workloadMark);
}

function childrenOf(pid: number): number[] {
  return list(`${pid}/task`).flatMap((tid) => numbers(read(`${pid}/task/${tid}/children`)));
}

/** Seconds of a process, and of its children that it has waited for. */
function ticksOf(pid: number): { own: number; reaped: number } {
  const stat = read(`${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (first: number) => (Number(fields[first] ?? 0) + Number(fields[first + 1] ?? 0)) / ticksPerSecond;
  return { own: seconds(11), reaped: seconds(13) };
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
