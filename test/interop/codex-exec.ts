import { type Codex, type CodexOptions, prompt } from './codex.ts';
import { type Ending, Program } from './program.ts';

interface CommandItem {
  readonly type: string;
  readonly exit_code?: number;
}

/** `codex exec`: one turn, no user to ask, events as JSON lines. */
export class CodexExec implements Codex {
  readonly #program: Program;
  readonly #items: CommandItem[] = [];

  constructor({ binary, cwd, env, sandbox }: CodexOptions) {
    const argv = [binary, 'exec', '--json', '--skip-git-repo-check', '-C', cwd, '-s', sandbox, prompt] as const;
    this.#program = new Program({ argv: [...argv], cwd, env });
    this.#program.onLine((line) => {
      const event = JSON.parse(line) as { type: string; item: CommandItem };
      if (event.type === 'item.completed') this.#items.push(event.item);
    });
  }

  /** The prompt is on the command line, so the turn has begun. */
  async start(): Promise<void> {}

  /** The exit codes the client reported to its user, in order. */
  get exitCodes(): (number | undefined)[] {
    return this.#items.filter(({ type }) => type === 'command_execution').map(({ exit_code }) => exit_code);
  }

  get ended(): Promise<Ending> {
    return this.#program.ended;
  }

  get stderr(): string {
    return this.#program.stderr;
  }

  async turnCompleted(): Promise<void> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`codex exec ended with ${signal ?? `code ${code}`}`);
  }

  kill(): void {
    this.#program.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}
