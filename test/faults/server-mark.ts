import { argumentsOf, childrenOf, isAlive, pids, readProc } from '../support/proc.ts';

/** The bits of a family mark that are the same for everything a server has started; see docs/decisions/family-mark.md. */
const BELOW_SERVER = 38n;

/** What everything carries that this server has started; its guardian is told. */
export function serverMarkOf(pid: number): bigint {
  for (const child of childrenOf(pid)) {
    const [program = '', mark] = argumentsOf(child.pid);
    if (/guardian$/.test(program)) return BigInt(`0x${mark}`) >> BELOW_SERVER;
  }
  throw new Error(`process ${pid} has no guardian`);
}

/** Living processes with the mark, the guardian included. */
export function withServerMark(mark: bigint): number[] {
  return pids().filter((pid) => {
    const [, limit] = /^Max realtime timeout\s+(\d+)/m.exec(readProc(pid, 'limits')) ?? [];
    return limit !== undefined && BigInt(limit) >> BELOW_SERVER === mark && isAlive(pid);
  });
}
