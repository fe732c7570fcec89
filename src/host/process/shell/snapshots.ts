import type { Logger } from '../../../base/index.ts';
import type { Params } from '../../../protocol/index.ts';
import type { Command } from '../../os/index.ts';
import type { SandboxHost } from '../../sandbox/index.ts';
import { childEnvironment, excludesAny, inheritable } from '../child-environment.ts';
import type { ProcessObserver } from '../observer.ts';
import { captureShell, type ShellState } from './capture.ts';
import { rewritableIn } from './snapshot-request.ts';
import type { ShellDialect } from './state.ts';

type StartParams = Params<'process/start'>;
type Environment = Readonly<Record<string, string>>;

export interface ShellSnapshotsOptions {
  readonly sandboxes: SandboxHost;
  readonly mark: () => bigint;
  readonly observer: ProcessObserver;
  readonly log: Logger;
}

interface Snapshot {
  readonly state: Promise<ShellState | undefined>;
  readonly attempts: number;
  failed: boolean;
}

const SNAPSHOTS = 16;
const ATTEMPTS = 3;
/** The kernel takes 128 KiB for one variable, and a character has up to four bytes. */
const VARIABLE_LENGTH = 30 * 1024;

/** The states of shells after start-up, for one session, so that each command need not run the start-up files again. */
export class ShellSnapshots {
  readonly #options: ShellSnapshotsOptions;
  /** By shell, directory, policy and sandbox, the most recently used last. */
  readonly #snapshots = new Map<string, Snapshot>();

  constructor(options: ShellSnapshotsOptions) {
    this.#options = options;
  }

  /**
   * The command for a shell that starts in the captured state. If the state cannot be captured: the command itself, or, if its
   * policy excludes variables, which the start-up files might export, the command for a shell that reads no start-up files.
   * `managed` variables belong to one process, and are not replaced by captured ones.
   */
  async restore(params: StartParams, command: Command, managed: Environment = {}): Promise<Command> {
    const dialect = rewritableIn(params.shellSnapshot, command.argv);
    if (!dialect) return command;
    const state = await this.#snapshot(params, command, dialect).state;
    if (!state) return excludesAny(policyOf(params)) ? restored(command, dialect, nothing) : command;
    const { env } = params.mode === 'prepared' ? params.request : params;
    const lasting = filtered(state.environment, params);
    const kept = Object.entries(command.env).filter(([name]) => name in env || name in managed || !(name in lasting));
    return restored({ ...command, env: { ...lasting, ...Object.fromEntries(kept) } }, dialect, state);
  }

  /** One capture for all commands with the same key; after a failure a later command tries again. */
  #snapshot(params: StartParams, command: Command, dialect: ShellDialect): Snapshot {
    const policy = policyOf(params);
    const key = JSON.stringify([params.shellSnapshot, String(command.cwd), policy, params.sandbox, params.network]);
    const known = this.#snapshots.get(key);
    const usable = known && (!known.failed || known.attempts >= ATTEMPTS);
    const snapshot = usable ? known : this.#capture(params, command, dialect, (known?.attempts ?? 0) + 1);
    this.#snapshots.delete(key);
    this.#snapshots.set(key, snapshot);
    if (this.#snapshots.size > SNAPSHOTS) this.#snapshots.delete(this.#snapshots.keys().next().value!);
    return snapshot;
  }

  #capture(params: StartParams, command: Command, dialect: ShellDialect, attempts: number): Snapshot {
    const { sandboxes, observer, mark, log } = this.#options;
    const failed = (event: string, error: unknown) => {
      snapshot.failed = true;
      log.warn(event, { shell: params.shellSnapshot?.shell.name, attempts, error: String(error) });
    };
    const captured = captureShell({ sandboxes, observer, command, params, dialect, mark }).then(
      (state) => {
        if (!state.whole) failed('shell_snapshot.login_only', state.cause);
        return state;
      },
      (error) => void failed('shell_snapshot.failed', error),
    );
    const snapshot: Snapshot = { state: captured.then((state) => state ?? undefined), attempts, failed: false };
    return snapshot;
  }
}

const policyOf = (params: StartParams) => (params.mode === 'prepared' ? null : params.envPolicy);

/** The state of a shell that has read no start-up file. */
const nothing = { settings: '', definitions: '' };

/** The variables that the start-up files exported, as far as the policy of the command permits them. */
function filtered(exported: Environment, params: StartParams): Environment {
  const policy = policyOf(params);
  if (!policy) return inheritable(exported);
  return childEnvironment(exported, { ...policy, inherit: 'all' }, {});
}

/**
 * The state is passed in the environment: a file could be rewritten by a sandboxed command that may write there, or be missing in
 * its view. The shell unsets the variables before the script runs.
 */
function restored(
  command: Command,
  { flag, undo }: ShellDialect,
  state: Pick<ShellState, keyof typeof nothing>,
): Command {
  const [program, , script, ...rest] = command.argv;
  const settings = inVariables('SETTINGS', state.settings);
  const definitions = inVariables('DEFINITIONS', state.definitions);
  const variables = { ...settings, ...definitions };
  // One eval: its text is complete before the definitions in it can replace a command that it needs.
  const restore = `eval "unset ${Object.keys(variables).join(' ')}
{ :
${expanded(settings)}
} || printf 'failed to restore the shell snapshot\\n' >&2
${expanded(definitions)}" >/dev/null
`;
  return {
    ...command,
    argv: [program!, flag, `${undo}${Object.keys(variables).length > 0 ? restore : ''}${script}`, ...rest],
    env: { ...command.env, ...variables },
  };
}

function inVariables(kind: string, text: string): Environment {
  const parts = text.match(new RegExp(`.{1,${VARIABLE_LENGTH}}`, 'gsu')) ?? [];
  return Object.fromEntries(parts.map((part, index) => [`EXEC_SERVER_SHELL_${kind}_${index}`, part]));
}

const expanded = (variables: Environment): string =>
  Object.keys(variables)
    .map((name) => `\${${name}}`)
    .join('');
