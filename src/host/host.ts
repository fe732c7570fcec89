import { type Environment, Outgoing } from './http/index.ts';

export interface HostOptions {
  /** The variables of the program: commands inherit from them, and proxies, certificates and folders are named there. */
  readonly environment: Environment;
}

/** This machine as one program uses it. Made once, where a program starts, and handed down to everything that works here. */
export class Host {
  readonly environment: Readonly<Record<string, string>>;
  readonly outgoing: Outgoing;

  constructor({ environment }: HostOptions) {
    this.environment = environment as Readonly<Record<string, string>>;
    this.outgoing = new Outgoing(environment);
  }
}
