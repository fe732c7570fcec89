import type { PublicKeyObject } from '../../index.ts';

/** Who serves an environment, and where its socket is. */
export interface Registration {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly executorPublicKey: PublicKeyObject;
  /** Counts the sockets the environment has had. */
  readonly epoch: number;
  /** The node that has, or had, the socket. */
  readonly node: string;
  readonly state: 'online' | 'offline';
  /** When its node last said so. */
  readonly updated: number;
  /** When the executor's key changed, as far as it still matters. */
  readonly ownerChanges: readonly number[];
  /** Whose token registered it. */
  readonly registeredBy: string;
}

/** Called with what became of a registration; with nothing when it is gone. */
export type DirectoryListener = (environmentId: string, registration: Registration | undefined) => void;

/** All registrations. Reading is a look into memory; a change is compared and set. */
export interface Directory extends AsyncDisposable {
  /** Whether it can be read and changed now. */
  readonly ready: boolean;
  get(environmentId: string): Registration | undefined;
  list(): Iterable<Registration>;
  /**
   * Changes a registration into what the function makes of the current one; it runs again when somebody else was faster, and
   * returns nothing to leave things as they are.
   */
  update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined>;
  /** False if there was nothing to remove. */
  remove(environmentId: string): Promise<boolean>;
  listen(listener: DirectoryListener): void;
}
