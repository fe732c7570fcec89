/** Lines by their name, and by the environment they belong to. */
export class LineTable<Line> {
  readonly #byName = new Map<string, { readonly environmentId: string; readonly line: Line }>();
  readonly #byEnvironment = new Map<string, Set<Line>>();

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Line | undefined {
    return this.#byName.get(name)?.line;
  }

  set(name: string, environmentId: string, line: Line): void {
    this.delete(name);
    this.#byName.set(name, { environmentId, line });
    const lines = this.#byEnvironment.get(environmentId) ?? new Set();
    this.#byEnvironment.set(environmentId, lines.add(line));
  }

  delete(name: string): void {
    const entry = this.#byName.get(name);
    if (!entry) return;
    const { environmentId, line } = entry;
    this.#byName.delete(name);
    const lines = this.#byEnvironment.get(environmentId);
    lines?.delete(line);
    if (lines?.size === 0) this.#byEnvironment.delete(environmentId);
  }

  /** Those of one environment, in a list of their own: some may leave while it is gone through. */
  of(environmentId: string): Line[] {
    return [...(this.#byEnvironment.get(environmentId) ?? [])];
  }

  all(): Line[] {
    return [...this.#byName.values()].map(({ line }) => line);
  }
}
