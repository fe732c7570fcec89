import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sandbox } from '../protocol/index.ts';
import { prepareSandboxes, resolveFilePolicy } from '../sandbox/index.ts';
import { FileParams } from './file-params.ts';

/**
 * Goes through what the first sandboxed call needs, step by step in the turns after a client has first put the server
 * to work: code that runs for the first time takes longer than all the rest of such a call but the sandbox itself. A
 * server that nobody uses spends nothing on it.
 */
export class Rehearsal {
  #begun = false;

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    void this.#run().catch(() => {}); // the first call will tell
  }

  async #run(): Promise<void> {
    const params = new FileParams();
    await nextTurn();
    const decoded = params.decode('fs/readFile', { path: 'file:///usr', sandbox: example });
    await nextTurn();
    resolveFilePolicy(decoded?.sandbox as Sandbox, { mode: 'write', env: {} });
    await nextTurn();
    prepareSandboxes();
  }
}

/** Something of everything, in directories that every machine has. */
const example = {
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [
        { path: { type: 'path', path: 'file:///usr' }, access: 'read' },
        { path: { type: 'special', value: { kind: 'project_roots' } }, access: 'write' },
      ],
    },
    network: 'restricted',
  },
  cwd: 'file:///var/tmp',
  workspaceRoots: ['file:///var/tmp'],
};
