import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../base/index.ts';
import { FileService } from '../host/files/index.ts';
import { nativeFile } from '../host/os/index.ts';
import { type HelperLaunchers, resolveFilePolicy, type SandboxHost } from '../host/sandbox/index.ts';
import { decodeParams } from '../protocol/index.ts';

/**
 * Runs an example of a sandboxed call, step by step in the turns of the event loop after the first request of any client: code
 * that runs for the first time takes as long as the sandbox itself. Then again until V8 has compiled the code, which brings the
 * first 20 reads of a client from 0.26 to 0.22 ms each. A server without clients spends nothing on it.
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
    this.#resolve();
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
    for (let time = 0; time < REPETITIONS; time++) {
      this.#resolve();
      await files.answer('fs/getMetadata', reading);
      await nextTurn();
    }
  }

  #resolve(): void {
    const { sandbox } = decodeParams('fs/writeFile', { ...example('write'), dataBase64: '' });
    resolveFilePolicy(sandbox!, { mode: 'write', paths: [], env: this.#sandboxes.environment });
  }
}

const REPETITIONS = 20;

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
