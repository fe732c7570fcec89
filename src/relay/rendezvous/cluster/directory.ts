import type { PublicKeyObject } from '../../index.ts';

/** The executor that serves an environment, and the node that has its socket. */
export interface Registration {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly executorPublicKey: PublicKeyObject;
  /** Counts the sockets the environment has had. */
  readonly epoch: number;
  /** The node that has, or had, the socket. */
  readonly node: string;
  readonly state: 'online' | 'offline';
  /** When its node last updated it. */
  readonly updated: number;
  /** When the executor's key changed, within the last minute. */
  readonly ownerChanges: readonly number[];
  /** The name of the token that registered it. */
  readonly registeredBy: string;
}

/** Called with a changed registration; with undefined when it was removed. */
export type DirectoryListener = (environmentId: string, registration: Registration | undefined) => void;

/** All registrations. Reads are from memory; a change is compared and set. */
export interface Directory extends AsyncDisposable {
  /** Whether the directory can be read and changed now. */
  readonly ready: boolean;
  get(environmentId: string): Registration | undefined;
  list(): Iterable<Registration>;
  /**
   * Replaces a registration by the one that the function returns for it; undefined leaves it as it is. The function runs again when
   * another node was faster.
   */
  update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined>;
  /** False if there was nothing to remove. */
  remove(environmentId: string): Promise<boolean>;
  listen(listener: DirectoryListener): void;
}
