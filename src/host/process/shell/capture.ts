import { constants } from 'node:os';
import { decodeBase64, decodeLatin1, decodeUtf8 } from '../../../base/index.ts';
import type { Params } from '../../../protocol/index.ts';
import { type Child, type Command, spawn } from '../../os/index.ts';
import type { SandboxHost } from '../../sandbox/index.ts';
import { type ProcessObserver, type WantedProcess, wantedProcess } from '../observer.ts';
import { confineStart, findDenied } from '../start-request.ts';
import { BEGIN, CAPTURE_VARIABLE, END, NEXT, type ShellDialect } from './state.ts';

/** The state of a shell after its start-up files: after all of them, or after those of a login alone. */
export type ShellState = Captured & ({ readonly whole: true } | { readonly whole: false; readonly cause: unknown });

interface Captured {
  /** Commands that restore options; they run before any definition. */
  readonly settings: string;
  /** Definitions of functions and aliases. */
  readonly definitions: string;
  /** The variables that they exported or changed. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface CaptureOptions {
  /** The command that needs the state; the shell is started as that command would be. */
  readonly command: Command;
  readonly params: Params<'process/start'>;
  readonly dialect: ShellDialect;
  readonly mark: () => bigint;
  readonly observer: ProcessObserver;
  readonly sandboxes: SandboxHost;
}

const CAPTURE_MS = 10_000;
const STATE_BYTES = 512 * 1024;

/**
 * Starts a shell with its start-up files and captures its state. If the start-up file of interactive shells ends the shell, or
 * never ends, the state is that of a plain login.
 */
export async function captureShell(options: CaptureOptions): Promise<ShellState> {
  const { startUp, print } = options.dialect;
  try {
    return { ...(await captureBy(`${startUp}${print}`, options)), whole: true };
  } catch (cause) {
    return { ...(await captureBy(print, options)), whole: false, cause };
  }
}

/** Runs the shell in the sandbox of the command, because start-up files are commands too. */
async function captureBy(
  script: string,
  { sandboxes, observer, command, params, dialect, mark }: CaptureOptions,
): Promise<Captured> {
  const argv = [command.argv[0]!, '-lc', script];
  const plain = { ...command, argv, io: { type: 'pipe', stdin: 'closed' } } as const;
  const { sandbox } = params;
  const deniedMatches = sandbox ? await findDenied(plain, sandbox) : undefined;
  const confined = sandbox && confineStart(sandboxes, plain, sandbox, params, { deniedMatches, watch: false });
  using _claim = confined?.claim;
  const wanted = { ...wantedProcess(params, plain), purpose: 'shellSnapshot' } as const;
  const child = observedSpawn(observer, wanted, () => spawn({ ...(confined?.command ?? plain), mark: mark() }));
  confined?.started();
  const timeout = setTimeout(() => kill(child), CAPTURE_MS);
  try {
    const printed = await readState(child);
    // A process that start-up files leave running, such as ssh-agent, lives as long as the session.
    child.closeOutputs();
    await child.exited;
    return parseState(printed, dialect, command.env);
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  } finally {
    clearTimeout(timeout);
  }
}

/** Spawns a process that is observed until it exits. */
function observedSpawn(observer: ProcessObserver, wanted: WantedProcess, spawned: () => Child): Child {
  const observed = observer.starting(wanted);
  const beganAt = performance.now();
  try {
    const child = spawned();
    observed.started(child.pid, performance.now() - beganAt);
    void child.exited.then((status) => {
      const exitCode = 'code' in status ? status.code : 128 + status.signal;
      observed.exited({ exitCode, sandboxDenied: false });
    });
    return child;
  } catch (error) {
    observed.failed(error);
    throw error;
  }
}

function kill(child: Child): void {
  child.signal(constants.signals.SIGKILL);
  child.closeOutputs();
}

/** Reads up to the end of the state, because a process that inherited stdout may keep it open for long. */
async function readState(child: Child): Promise<string> {
  let printed = Buffer.alloc(0);
  for await (const event of child.events) {
    if (event.type !== 'output' || event.stream !== 'stdout') continue;
    const { buffer, start, end } = event.chunk;
    printed = Buffer.concat([printed, decodeBase64(decodeLatin1(buffer, start, end))]);
    const state = stateIn(printed);
    if (state) return decodeUtf8(state);
    printed = Buffer.from(unfinished(printed));
    if (printed.length > STATE_BYTES) throw new Error(`the state exceeds ${STATE_BYTES} bytes`);
  }
  throw new Error('the shell ended before it had printed its state');
}

/** The first whole state. */
function stateIn(printed: Buffer): Buffer | undefined {
  for (let end = printed.indexOf(END, 0, 'latin1'); end >= 0; end = printed.indexOf(END, end + 1, 'latin1')) {
    const begin = printed.lastIndexOf(BEGIN, end, 'latin1');
    if (begin >= 0) return printed.subarray(begin + BEGIN.length, end);
  }
  return undefined;
}

/** The output from the last begin mark on; output of start-up files before it is dropped. */
function unfinished(printed: Buffer): Buffer {
  const begin = printed.lastIndexOf(BEGIN, undefined, 'latin1');
  return printed.subarray(begin >= 0 ? begin : Math.max(0, printed.length - BEGIN.length));
}

function parseState(printed: string, { restore }: ShellDialect, given: Readonly<Record<string, string>>): Captured {
  const { settings, definitions, variables } = restore(printed.split(NEXT));
  const entries = variables.split('\0').flatMap((entry) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(entry) ?? [];
    return name === undefined || !isLasting(name) || given[name] === value ? [] : [[name, value!]];
  });
  return { settings, definitions, environment: Object.fromEntries(entries) };
}

/** Whether a variable is restored: not those about one run of a shell, and not exported functions, which are definitions. */
const isLasting = (name: string): boolean =>
  !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name) &&
  !name.startsWith('BASH_FUNC_') &&
  !name.startsWith(CAPTURE_VARIABLE);
