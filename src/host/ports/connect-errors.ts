import { ExecError } from '../../protocol/index.ts';
import type { ConnectError } from '../os/index.ts';

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'nothing listens there',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'there is no way to its network',
  EADDRNOTAVAIL: 'this machine has no such address',
  ETIMEDOUT: 'it did not answer',
  EACCES: 'the user of the server may not connect to it',
  EAGAIN: 'too many connections wait to be accepted there; open the stream again later',
  EMFILE: 'the server has no descriptor left; close other streams or processes',
  ENFILE: 'the machine has no descriptor left',
  EPROTOTYPE: 'the socket is not one for streams',
};

/** The error for a connection that could not be made. */
export function cannotConnect(where: string, cause: ConnectError): ExecError {
  const why = causes[cause.code] ?? 'the connection failed';
  return new ExecError('invalidRequest', `cannot connect to ${where}: ${why} (${cause.code})`, {
    cause,
    details: { errno: cause.code },
  });
}

/** Why a connection that was open is over. */
export function connectionFailure(code: string): string {
  const why = failures[code] ?? 'the connection failed';
  return `${why} (${code})`;
}

const failures: Readonly<Record<string, string>> = {
  ECONNRESET: 'the other end reset the connection',
  EPIPE: 'the other end stopped reading',
  ETIMEDOUT: 'the other end did not answer any more',
};
