import type { Logger } from '../base/index.ts';
import { notifyServiceManager } from '../host/os/index.ts';
import { UsageError } from './usage-error.ts';

/** The first descriptor that a service manager passes (SD_LISTEN_FDS_START). */
const FIRST = 3;
/** Node keeps that many of the lowest descriptors from commands; more than one per listener is of no use. */
const MOST_SOCKETS = 12;

const VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES', 'NOTIFY_SOCKET'];

/** What a service manager such as systemd has given to this process: listening sockets, and a socket for reports. */
export class ServiceManager {
  /** The names of the sockets, in the order of their descriptors. */
  readonly #sockets: readonly string[];
  readonly #reports: string | undefined;

  private constructor(sockets: readonly string[], reports: string | undefined) {
    this.#sockets = sockets;
    this.#reports = reports;
  }

  /** Takes the variables out of the environment: they are meant for this process, and no command may think them its own. */
  static take(env: NodeJS.ProcessEnv, pid = process.pid): ServiceManager {
    const { LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES = '', NOTIFY_SOCKET } = env;
    for (const variable of VARIABLES) delete env[variable];
    const count = LISTEN_PID === String(pid) && /^\d+$/.test(LISTEN_FDS ?? '') ? Number(LISTEN_FDS) : 0;
    const names = LISTEN_FDNAMES.split(':');
    const sockets = Array.from({ length: Math.min(count, MOST_SOCKETS) }, (_, at) => names[at] || 'unknown');
    return new ServiceManager(sockets, NOTIFY_SOCKET || undefined);
  }

  /** `fd:N` for `systemd:NAME`, and for `systemd:` where there is one socket alone; any other address as it is. */
  resolve(address: string, option: string): string {
    if (!address.startsWith('systemd:')) return address;
    const name = address.slice('systemd:'.length);
    const named = this.#sockets.flatMap((other, at) => (name === '' || name === other ? [FIRST + at] : []));
    if (named.length === 1) return `fd:${named[0]}`;
    throw new UsageError(`${option} ${address}: ${this.#complaint(name, named.length)}`);
  }

  /** Reports that the server serves, and where. */
  ready(status: string, log: Logger): void {
    this.#notify(`READY=1\nSTATUS=${status}`, log);
  }

  stopping(log: Logger): void {
    this.#notify('STOPPING=1\nSTATUS=ending processes', log);
  }

  #notify(text: string, log: Logger): void {
    if (this.#reports === undefined) return;
    const error = notifyServiceManager(this.#reports, text);
    if (error) log.warn('service_manager.not_notified', { error, socket: this.#reports });
  }

  #complaint(name: string, found: number): string {
    if (this.#sockets.length === 0) {
      return 'no socket was passed to this process (LISTEN_FDS, LISTEN_PID); start it by a .socket unit, or name an address';
    }
    const passed = `sockets were passed with the names ${this.#sockets.join(', ')}`;
    if (found === 0) return `there is no socket ${name}; ${passed}`;
    return `it could be ${found} sockets; ${passed}: name one by systemd:NAME (FileDescriptorName= in its unit)`;
  }
}
