import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../base/index.ts';
import { FileService } from '../host/files/index.ts';
import { nativeFile } from '../host/os/index.ts';
import { type HelperLaunchers, resolveFilePolicy, type SandboxHost } from '../host/sandbox/index.ts';
import { decodeParams } from '../protocol/index.ts';

/**
 * Runs one example of a sandboxed call, step by step in the turns of the event loop after the first request of any client: code
 * that runs for the first time takes as long as the sandbox itself. A server without clients spends nothing on it.
 */
export class SandboxWarmup {
  readonly #sandboxes: SandboxHost;
  readonly #launchers: HelperLaunchers;
  readonly #log: Logger;
  #begun = false;

  constructor(sandboxes: SandboxHost, launchers: HelperLaunchers, log: Logger) {
    this.#sandboxes = sandboxes;
    this.#launchers = launchers;
    this.#log = log;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    void this.#run().then(
      () => this.#log.debug('sandboxes.prepared'),
      (error) => this.#log.debug('sandboxes.unprepared', { reason: String(error) }), // the first real call reports the reason to its client
    );
  }

  async #run(): Promise<void> {
    await nextTurn();
    const writing = decodeParams('fs/writeFile', { ...example('write'), dataBase64: '' });
    await nextTurn();
    resolveFilePolicy(writing.sandbox!, { mode: 'write', paths: [], env: this.#sandboxes.environment });
    await nextTurn();
    this.#launchers.keepOneWaiting(nativeFile('fs-helper'));
    await nextTurn();
    // Only the reading call is carried out: a warm-up changes nothing.
    const reading = decodeParams('fs/getMetadata', example('read'));
    await using files = new FileService({
      onMissingChanged: () => {},
      sandboxes: this.#sandboxes,
      launchers: this.#launchers.apart(),
    });
    await files.answer('fs/getMetadata', reading);
    this.#sandboxes.bubblewrap.confirm();
  }
}

/** A call in directories that every machine has, whose sandbox needs each kind of mount. */
const example = (access: 'read' | 'write') => ({
  path: 'file:///usr',
  sandbox: {
    permissions: {
      type: 'managed',
      file_system: {
        type: 'restricted',
        entries: [
          { path: { type: 'path', path: 'file:///usr' }, access: 'read' },
          { path: { type: 'path', path: 'file:///usr/share' }, access: 'none' },
          { path: { type: 'special', value: { kind: 'project_roots' } }, access },
        ],
      },
      network: 'restricted',
    },
    cwd: 'file:///var/tmp',
    workspaceRoots: ['file:///var/tmp'],
  },
});
