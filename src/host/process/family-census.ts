import { readFile } from 'node:fs/promises';
import { familyPids } from '../os/index.ts';

/** A process that carries the mark of a family. */
export interface Member {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly lives: boolean;
  readonly ownTicks: number;
  /** The ticks of children that have ended and were waited for. */
  readonly reapedTicks: number;
  readonly threads: number;
  readonly residentKiB: number;
  readonly swappedKiB: number;
}

/** Processes whose files of procfs are read at once: more would use up the descriptors. */
const AT_ONCE = 32;

/** One pass over /proc that has not begun yet, and the families that it searches for. */
interface Pass {
  readonly marks: Set<bigint>;
  readonly members: Promise<Map<bigint, Member[]>>;
}

/** Reads procfs for the members of families, one pass at a time: requests that come during a pass share the next one. */
class FamilyCensus {
  #last: Promise<unknown> = Promise.resolve();
  #next: Pass | undefined;

  async membersOf(mark: bigint): Promise<Member[]> {
    this.#next ??= this.#plan();
    this.#next.marks.add(mark);
    return (await this.#next.members).get(mark) ?? [];
  }

  #plan(): Pass {
    const marks = new Set<bigint>();
    const members = this.#last.then(() => {
      this.#next = undefined;
      return membersByMark(marks);
    });
    this.#last = members.catch(() => undefined); // the callers of `membersOf` get the error
    return { marks, members };
  }
}

/** One for the whole process, so that requests of all sessions share passes. */
export const familyCensus = new FamilyCensus();

async function membersByMark(marks: ReadonlySet<bigint>): Promise<Map<bigint, Member[]>> {
  const found = new Map<bigint, Member[]>();
  for (const [mark, pids] of await familyPids([...marks])) {
    const members: Member[] = [];
    for (let at = 0; at < pids.length; at += AT_ONCE) {
      const some = await Promise.all(pids.slice(at, at + AT_ONCE).map(memberOf));
      members.push(...some.filter((member) => member !== undefined));
    }
    found.set(mark, members);
  }
  return found;
}

/** The mark of one process, if it has one. */
export async function markOf(pid: number): Promise<bigint | undefined> {
  try {
    const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
    const mark = /^Max realtime timeout\s+\S+\s+(\d+)/m.exec(limits)?.[1];
    return mark === undefined ? undefined : BigInt(mark); // "unlimited" for other processes
  } catch {
    return undefined; // it has ended
  }
}

async function memberOf(pid: number): Promise<Member | undefined> {
  try {
    const [line, status] = await Promise.all(
      ['stat', 'status'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1')),
    );
    return parsed(pid, line!, status!);
  } catch {
    return undefined; // it has ended
  }
}

function parsed(pid: number, line: string, status: string): Member {
  const nameEnd = line.lastIndexOf(')');
  const [state = '', parent, ...more] = line.slice(nameEnd + 2).split(' ');
  const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = more.slice(9, 13).map(Number);
  return {
    pid,
    parent: Number(parent),
    name: line.slice(line.indexOf('(') + 1, nameEnd),
    lives: !'ZXx'.includes(state),
    ownTicks: user + system,
    reapedTicks: reapedUser + reapedSystem,
    threads: Number(more[15] ?? 1),
    residentKiB: Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0),
    swappedKiB: Number(/^VmSwap:\s*(\d+)/m.exec(status)?.[1] ?? 0),
  };
}
