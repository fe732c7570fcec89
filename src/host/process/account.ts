import { readFileSync } from 'node:fs';

/** A user of this machine, as which a command can run. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** Its supplementary groups, its own one included. */
  readonly groups: readonly number[];
  /** Undefined for a number without an entry in /etc/passwd. */
  readonly login?: { readonly name: string; readonly home: string; readonly shell: string };
}

/** Finds a name in /etc/passwd, with its groups in /etc/group; or takes `UID:GID` as it is, without other groups. */
export function accountOf(user: string, read = (path: string) => readFileSync(path, 'utf8')): Account | undefined {
  const entries = records(read('/etc/passwd'));
  const [, ownUid, ownGid] = /^(\d{1,10}):(\d{1,10})$/.exec(user) ?? [];
  if (ownUid !== undefined) {
    const [uid, gid] = [Number(ownUid), Number(ownGid)];
    if (uid > LARGEST_ID || gid > LARGEST_ID) return undefined;
    const entry = entries.find((fields) => fields[2] === String(uid));
    return { uid, gid, groups: [gid], ...loginOf(entry) };
  }
  const entry = entries.find(([name]) => name === user);
  if (!entry) return undefined;
  const gid = Number(entry[3]);
  const others = records(read('/etc/group')).filter(([, , , members = '']) => members.split(',').includes(user));
  const groups = [...new Set([gid, ...others.map((fields) => Number(fields[2]))])];
  return { uid: Number(entry[2]), gid, groups, ...loginOf(entry) };
}

/** The kernel takes the number above it for "unchanged". */
const LARGEST_ID = 2 ** 32 - 2;

const records = (text: string): string[][] =>
  text
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([name]) => name !== '');

function loginOf(entry: readonly string[] | undefined): Pick<Account, 'login'> {
  if (!entry) return {};
  const [name = '', , , , , home = '', shell = ''] = entry;
  return { login: { name, home: home || '/', shell: shell || '/bin/sh' } };
}

/** The variables that tell a program who it runs as. */
export function accountVariables({ uid, login }: Account): Record<string, string> {
  const { name, home, shell } = login ?? { name: String(uid), home: '/', shell: '/bin/sh' };
  return { HOME: home, USER: name, LOGNAME: name, SHELL: shell };
}
