import type { ToolCall } from './scripted-model.ts';
import type { WireTap } from './wire-tap.ts';

/** Carries out tool calls, several at once; the texts for the model come in the order of the calls. */
export interface ToolRunner {
  readonly cwd: string;
  /** Between the tools and the server. */
  readonly tap: WireTap;
  call(calls: readonly ToolCall[]): Promise<string[]>;
}

/** One answer of a model: its calls, given the sessions its script has opened so far. Without any, time just passes. */
export type Step = (
  sessions: readonly number[],
  runner: ToolRunner,
) => readonly ToolCall[] | Promise<readonly ToolCall[]>;

/** The steps of each model, by a sentence that says what they are about. */
export type Scripts = Readonly<Record<string, readonly Step[]>>;

/** Without a login shell, which would add the output of the machine's start-up files. */
export const run = (cmd: string, args: object = {}): Step =>
  calls('exec_command', { cmd, login: false, yield_time_ms: 20_000, ...args });

/** Starts a command that is still running when its window closes. */
export const open = (cmd: string, args: object = {}): Step => run(cmd, { yield_time_ms: 3000, ...args });

/** Types into the session opened last, or into the one with this index. */
export const type =
  (chars: string, args: object = {}, session = -1): Step =>
  (sessions) => {
    const session_id = sessions.at(session);
    if (session_id === undefined) throw new Error('the command that should be running has ended');
    return [{ name: 'write_stdin', arguments: { session_id, chars, yield_time_ms: 3000, ...args } }];
  };

/** Looks at a session; the shortest such look is five seconds. */
export const poll = (args: object = {}, session = -1): Step => type('', { yield_time_ms: 20_000, ...args }, session);

export const calls =
  (name: string, args: object | string): Step =>
  () => [{ name, arguments: args }];

export const together =
  (...steps: readonly Step[]): Step =>
  async (sessions, runner) =>
    (await Promise.all(steps.map((step) => step(sessions, runner)))).flat();

/**
 * Plays all scripts side by side, step by step, so that they wait together. The result is what each model saw, with
 * what differs from run to run replaced.
 */
export async function play(scripts: Scripts, runner: ToolRunner): Promise<Record<string, string[]>> {
  const transcripts = Object.entries(scripts).map(([name, steps]) => ({
    name,
    steps,
    seen: new Transcript(runner.cwd),
  }));
  const rounds = Math.max(...transcripts.map(({ steps }) => steps.length));
  for (let round = 0; round < rounds; round++) {
    const asked = await Promise.all(
      transcripts.map(async ({ steps, seen }) => ({
        seen,
        calls: (await steps[round]?.(seen.sessions, runner)) ?? [],
      })),
    );
    if (asked.every(({ calls }) => calls.length === 0)) continue;
    const texts = await runner.call(asked.flatMap(({ calls }) => calls));
    for (const { seen, calls } of asked) for (const text of texts.splice(0, calls.length)) seen.add(text);
  }
  return Object.fromEntries(transcripts.map(({ name, seen }) => [name, seen.texts]));
}

class Transcript {
  readonly texts: string[] = [];
  readonly sessions: number[] = [];
  readonly #cwd: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  add(text: string): void {
    const opened = /^Process running with session ID (\d+)$/m.exec(text)?.[1];
    if (opened && !this.sessions.includes(Number(opened))) this.sessions.push(Number(opened));
    this.texts.push(
      text
        .replace(/^Chunk ID: [0-9a-f]{6}$/m, 'Chunk ID: ID')
        .replace(/^Wall time: [\d.]+ seconds$/gm, 'Wall time: TIME')
        .replace(/(session ID|process id) (\d+)/, (_, words: string, id: string) => `${words} ${this.#session(id)}`)
        .replaceAll(this.#cwd, 'CWD'),
    );
  }

  /** A number that no session was given is left as it is. */
  #session(id: string): string {
    const index = this.sessions.indexOf(Number(id));
    return index < 0 ? id : `#${index + 1}`;
  }
}
