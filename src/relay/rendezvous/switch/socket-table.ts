/** Sockets by name, and by the environment they belong to. */
export class SocketTable<Socket> {
  readonly #byName = new Map<string, { readonly environmentId: string; readonly socket: Socket }>();
  readonly #byEnvironment = new Map<string, Set<Socket>>();

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Socket | undefined {
    return this.#byName.get(name)?.socket;
  }

  set(name: string, environmentId: string, socket: Socket): void {
    this.delete(name);
    this.#byName.set(name, { environmentId, socket });
    const sockets = this.#byEnvironment.get(environmentId) ?? new Set();
    this.#byEnvironment.set(environmentId, sockets.add(socket));
  }

  delete(name: string): void {
    const entry = this.#byName.get(name);
    if (!entry) return;
    const { environmentId, socket } = entry;
    this.#byName.delete(name);
    const sockets = this.#byEnvironment.get(environmentId);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#byEnvironment.delete(environmentId);
  }

  /** The sockets of one environment, as a copy: sockets may be deleted during an iteration. */
  of(environmentId: string): Socket[] {
    return [...(this.#byEnvironment.get(environmentId) ?? [])];
  }

  all(): Socket[] {
    return [...this.#byName.values()].map(({ socket }) => socket);
  }
}
