import { ExecError } from '../../../protocol/index.ts';
import { NetworkNamespace } from '../../os/index.ts';
import { familyCensus, markOf } from '../family-census.ts';
import type { ManagedProcess } from '../managed-process.ts';
import { firstInSandbox } from '../usage.ts';

/** The networks of the processes of a session that were asked for, each until its process has closed. */
export class ProcessNetworks implements Disposable {
  readonly #found = new Map<ManagedProcess, Promise<NetworkNamespace | undefined>>();

  /** The network of a process; undefined if it is that of this program. Rejects if the process has ended, or its sandbox is not built yet. */
  async of(process: ManagedProcess): Promise<NetworkNamespace | undefined> {
    if (process.state.phase === 'closed') throw noNetwork(process);
    const known = this.#found.get(process);
    if (known) return await known;
    const search = networkOf(process);
    this.#found.set(process, search);
    search.catch(() => this.#found.delete(process)); // the caller gets the error, and a later one searches again
    return await search;
  }

  /** To be called when a process has closed. */
  forget(process: ManagedProcess): void {
    const dispose = (network: NetworkNamespace | undefined): void => network?.[Symbol.dispose]();
    void this.#found.get(process)?.then(dispose, () => undefined);
    this.#found.delete(process);
  }

  [Symbol.dispose](): void {
    for (const process of this.#found.keys()) this.forget(process);
  }
}

/** The processes that make a sandbox are outside of it: of its network is the first one inside, which never leaves it. */
async function networkOf(process: ManagedProcess): Promise<NetworkNamespace | undefined> {
  const { pid: own, mark, hasView } = process;
  const pid = hasView ? firstInSandbox(await familyCensus.membersOf(mark), own)?.pid : own;
  if (pid === undefined) throw noNetwork(process);
  let network: NetworkNamespace | undefined;
  try {
    network = NetworkNamespace.ofProcess(pid);
  } catch (cause) {
    throw noNetwork(process, cause);
  }
  if ((await markOf(pid)) === mark) return network;
  network?.[Symbol.dispose](); // of another process, which got the number of one that has ended
  throw noNetwork(process);
}

function noNetwork({ processId }: ManagedProcess, cause?: unknown): ExecError {
  const text = `the network of process ${processId} cannot be reached: the process has ended, or its sandbox is not built yet`;
  return new ExecError('invalidRequest', text, { cause });
}
