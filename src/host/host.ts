import { type Environment, Outgoing } from './http/index.ts';

export interface HostOptions {
  /** The variables of the program: commands inherit them, and they name proxies, certificates and folders. */
  readonly environment: Environment;
}

/** The parts of this machine that a program shares. Made once, where the program starts, and passed to all that need it. */
export class Host {
  readonly environment: Readonly<Record<string, string>>;
  readonly outgoing: Outgoing;

  constructor({ environment }: HostOptions) {
    this.environment = environment as Readonly<Record<string, string>>;
    this.outgoing = new Outgoing(environment);
  }
}
