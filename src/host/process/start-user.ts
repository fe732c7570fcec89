import { ExecError, type Params } from '../../protocol/index.ts';
import { type Account, accountOf } from './account.ts';

type StartParams = Params<'process/start'>;

/** The account that a start asks for, if the operator allows it. */
export function startUser(
  user: string,
  { sandbox, shellSnapshot }: Pick<StartParams, 'sandbox' | 'shellSnapshot'>,
  allowUsers: readonly string[],
  isRoot: boolean = process.getuid?.() === 0,
): Account {
  if (!isRoot) throw refused(`this server does not run as root: it cannot start a process as user ${user}`);
  if (!allowUsers.includes(user)) {
    throw refused(`user ${user} is not allowed; to allow it, add '${user}' to the setting allow_users of the server`);
  }
  // The sandbox and its mount points are made with the rights of the server, and a snapshot's shell runs with them.
  if (sandbox) throw refused('a sandboxed command runs as the user of the server: leave out user or sandbox');
  if (shellSnapshot) throw refused('shellSnapshot restores the shell of the user of the server: leave out user or it');
  const account = accountOf(user);
  if (!account) throw refused(`no such user: ${user} (a name of /etc/passwd or UID:GID)`);
  return account;
}

const refused = (message: string): ExecError =>
  new ExecError('invalidRequest', message, { details: { subject: 'user' } });
