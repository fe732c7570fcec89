import { constants } from 'node:os';
import { decodeBase64, decodeLatin1, decodeUtf8 } from '../base/index.ts';
import { type Child, type SpawnOptions, spawn } from '../os/index.ts';
import type { Params } from '../protocol/index.ts';
import { BEGIN, CAPTURE_VARIABLE, END, NEXT, type ShellDialect } from './shell-state.ts';
import { confineStart, findDenied } from './start-request.ts';

/** What the start-up files of a shell have made of it. */
export interface ShellState {
  /** Commands that restore options; they run before anything is redefined. */
  readonly settings: string;
  /** Definitions of functions and aliases. */
  readonly definitions: string;
  /** What they exported that the shell was not given. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface CaptureOptions {
  /** The command the state is wanted for; the shell is started as that would be. */
  readonly command: Omit<SpawnOptions, 'mark'>;
  readonly params: Params<'process/start'>;
  readonly dialect: ShellDialect;
  readonly mark: bigint;
}

const CAPTURE_MS = 10_000;
const CAPTURE_BYTES = 4 * 1024 * 1024;
const STATE_BYTES = 512 * 1024;

/** Lets a shell start up and takes down its state. Start-up files are commands too: the sandbox holds for them. */
export async function captureShell({ command, params, dialect, mark }: CaptureOptions): Promise<ShellState> {
  const argv = [command.argv[0]!, '-lc', dialect.capture];
  const plain = { ...command, argv, io: { type: 'pipe', stdin: 'closed' } } as const;
  const { sandbox } = params;
  const deniedMatches = sandbox ? await findDenied(plain, sandbox) : undefined;
  const confined = sandbox && confineStart(plain, sandbox, params, { deniedMatches, watch: false });
  using _claim = confined?.claim;
  const child = spawn({ ...(confined?.command ?? plain), mark });
  confined?.started();
  const late = setTimeout(() => giveUp(child), CAPTURE_MS);
  try {
    const printed = await readState(child);
    // What start-up files leave running, an agent for keys perhaps, lives as long as the session.
    child.closeOutputs();
    await child.exited;
    return parseState(printed, dialect, command.env);
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

function giveUp(child: Child): void {
  child.signal(constants.signals.SIGKILL);
  child.closeOutputs();
}

/** Reads up to the end of the state; a process that inherited the output may keep it open for long. */
async function readState(child: Child): Promise<string> {
  let printed = Buffer.alloc(0);
  for await (const event of child.events) {
    if (event.type !== 'output' || event.stream !== 'stdout') continue;
    const { buffer, start, end } = event.chunk;
    const searched = Math.max(0, printed.length - END.length);
    printed = Buffer.concat([printed, decodeBase64(decodeLatin1(buffer, start, end))]);
    if (printed.length > CAPTURE_BYTES) throw new Error(`the shell printed more than ${CAPTURE_BYTES} bytes`);
    const ended = printed.indexOf(END, searched, 'latin1');
    if (ended < 0) continue;
    const begun = printed.lastIndexOf(BEGIN, ended, 'latin1');
    if (begun >= 0) return decodeUtf8(printed.subarray(begun + BEGIN.length, ended));
  }
  throw new Error('the shell ended before it had printed its state');
}

function parseState(printed: string, { restore }: ShellDialect, given: Readonly<Record<string, string>>): ShellState {
  if (printed.length > STATE_BYTES) throw new Error(`the state exceeds ${STATE_BYTES} bytes`);
  const { settings, definitions, variables } = restore(printed.split(NEXT));
  const entries = variables.split('\0').flatMap((entry) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(entry) ?? [];
    return name === undefined || !isLasting(name) || given[name] === value ? [] : [[name, value!]];
  });
  return { settings, definitions, environment: Object.fromEntries(entries) };
}

/** Variables about one run of a shell say nothing about the next; functions are among the definitions. */
const isLasting = (name: string): boolean =>
  !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name) &&
  !name.startsWith('BASH_FUNC_') &&
  !name.startsWith(CAPTURE_VARIABLE);
