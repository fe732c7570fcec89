import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { PathUri, type Result } from '../../protocol/index.ts';

/** What a process uses together with everything it has started, as far as that lives; of a sandbox only what runs inside. */
export async function usageOf(pid: number, mark: bigint): Promise<Result<'process/stat'>> {
  const family = await census.membersOf(mark);
  const stage = family.find(({ parent, name }) => parent === pid && name === STAGE);
  const command = family.find((member) => (stage ? member.parent === stage.pid : member.pid === pid));
  const inside = family.filter((member) => member.name !== STAGE && !(stage && member.pid === pid));
  const ticks = [...inside.map(({ ownTicks }) => ownTicks), ...family.map(({ reapedTicks }) => reapedTicks)];
  return {
    pid: command?.pid ?? pid,
    cwd: command ? await directoryOf(command.pid) : null,
    cpuMs: sum(ticks) * TICK_MS,
    rssBytes: sum(inside.map(({ residentKiB }) => residentKiB)) * 1024,
    descendants: inside.filter((member) => member !== command && member.lives).length,
  };
}

interface Member {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly lives: boolean;
  readonly ownTicks: number;
  /** Of children that have ended and were waited for. */
  readonly reapedTicks: number;
  readonly residentKiB: number;
}

/** What the first process of a sandbox is called: its place in the view (host/sandbox/launch/stage-place.ts). */
const STAGE = '.exec-server';

/** The kernel tells processor time in hundredths of a second on every Linux. */
const TICK_MS = 10;

/** Files of procfs open at once, at most. */
const AT_ONCE = 32;

/** One pass over /proc that is yet to begin, and the families it looks for. */
interface Pass {
  readonly marks: Set<bigint>;
  readonly members: Promise<Map<bigint, Member[]>>;
}

/** Reads procfs for the members of families, one pass at a time: requests that come during a pass share the next one. */
class Census {
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
    this.#last = members.catch(() => undefined); // the callers see the failure
    return { marks, members };
  }
}

/** That of this process: were there more, requests would multiply the passes. */
const census = new Census();

async function membersByMark(marks: ReadonlySet<bigint>): Promise<Map<bigint, Member[]>> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = new Map<bigint, Member[]>([...marks].map((mark) => [mark, []]));
  for (let at = 0; at < pids.length; at += AT_ONCE) {
    const each = async (pid: number) => {
      const mark = await markOf(pid);
      const members = mark === undefined ? undefined : found.get(mark);
      const member = members && (await memberOf(pid));
      if (member) members.push(member);
    };
    await Promise.all(pids.slice(at, at + AT_ONCE).map(each));
  }
  return found;
}

async function markOf(pid: number): Promise<bigint | undefined> {
  try {
    const limits = await readFile(`/proc/${pid}/limits`, 'utf8');
    const mark = /^Max realtime timeout\s+\S+\s+(\d+)/m.exec(limits)?.[1];
    return mark === undefined ? undefined : BigInt(mark); // others have no limit
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
    residentKiB: Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0),
  };
}

/** Null when it cannot be told, or was removed. */
async function directoryOf(pid: number): Promise<PathUri | null> {
  const link = `/proc/${pid}/cwd`;
  try {
    const [path, { nlink }] = await Promise.all([readlink(link, 'buffer'), stat(link)]);
    return nlink > 0 ? PathUri.fromNative(path) : null;
  } catch {
    return null; // it has ended, or belongs to another user
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
