import { addon } from './addon.ts';
import { errorName } from './error-name.ts';

/** Sends a text of sd_notify(3) to the socket of a service manager. The name of the error, if it could not be sent. */
export function notifyServiceManager(socket: string, text: string): string | undefined {
  const isAbstract = socket.startsWith('@');
  const errno = addon().notify(Buffer.from(isAbstract ? `\0${socket.slice(1)}` : socket), Buffer.from(text));
  return errno === 0 ? undefined : errorName(errno);
}
