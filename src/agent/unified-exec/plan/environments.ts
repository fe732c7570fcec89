import { ExecError } from '../../../protocol/index.ts';
import type { ExecBackend } from '../backends/exec-backend.ts';

/** The environments that calls can choose from, by id; the first one is the default. */
export class Environments implements AsyncDisposable {
  readonly #backends: ReadonlyMap<string, ExecBackend>;

  constructor(backends: Readonly<Record<string, ExecBackend>>) {
    this.#backends = new Map(Object.entries(backends));
  }

  get ids(): string[] {
    return [...this.#backends.keys()];
  }

  select(id?: string | null): ExecBackend {
    const wanted = id ?? this.ids[0];
    const backend = wanted === undefined ? undefined : this.#backends.get(wanted);
    if (backend) return backend;
    throw new ExecError('invalidParams', `unknown environment ${wanted}; known are ${this.ids.join(', ') || 'none'}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#backends.values()].map((backend) => backend[Symbol.asyncDispose]()));
  }
}
