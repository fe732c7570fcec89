import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { makeOutOfBounds } from '../../support/out-of-bounds.ts';
import { serverProgram } from '../../support/server.ts';

/** The two ways clients speak: with sessions that begin by `initialize`, and without. */
export const eras = ['2025-11-25', '2026-07-28'] as const;
export type Era = (typeof eras)[number];

export interface Form {
  readonly message: string;
  readonly requestedSchema: { readonly properties: { readonly decision: { enum: string[]; enumNames: string[] } } };
}

type Reply = { action: 'accept'; content: { decision: string } } | { action: 'decline' | 'cancel' };

export interface UserOptions {
  readonly era?: Era;
  /** What the user answers; without it the client cannot ask. */
  readonly answer?: (form: Form) => Reply | Promise<Reply>;
}

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Readonly<Record<string, unknown>> | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** After how long the client gives up. */
  readonly timeout?: number;
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
}

/** A real client with a user behind it. */
export class McpUser implements AsyncDisposable {
  readonly client: Client;
  readonly questions: Form[] = [];

  constructor({ era = '2025-11-25', answer }: UserOptions) {
    this.client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: answer ? { elicitation: {} } : {},
        ...(era === '2026-07-28' && { versionNegotiation: { mode: { pin: era } } }),
      },
    );
    if (answer) {
      this.client.setRequestHandler('elicitation/create', async ({ params }) => {
        const form = params as unknown as Form;
        this.questions.push(form);
        return answer(form);
      });
    }
  }

  async connect(transport: Transport): Promise<this> {
    await this.client.connect(transport);
    return this;
  }

  async call(name: string, args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Answer> {
    const result = await this.client.callTool({ name, arguments: args }, options);
    const [content] = result.content as unknown as [{ text: string }];
    return {
      text: content.text,
      isError: result.isError ?? false,
      structured: result.structuredContent as Answer['structured'],
    };
  }

  /** Runs a command without the start-up files of the machine. */
  exec(cmd: string, more: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Answer> {
    return this.call('exec_command', { cmd, login: false, ...more }, options);
  }

  /** Opens a terminal that is still running when the first answer comes. */
  async terminal(cmd: string): Promise<Terminal> {
    return new Terminal(this, await this.exec(cmd, { tty: true, yield_time_ms: 500 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

/** A session in a terminal. */
export class Terminal {
  readonly sessionId: number;
  readonly #user: McpUser;
  #seen: string;
  #last: Answer;

  constructor(user: McpUser, first: Answer) {
    this.#user = user;
    this.#last = first;
    this.#seen = String(first.structured?.output);
    this.sessionId = Number(first.structured?.session_id);
  }

  /** All that was printed, and the end if there was one. */
  get seen(): string {
    return this.#seen;
  }

  get exitCode(): unknown {
    return this.#last.structured?.exit_code;
  }

  /** Types, and looks until the terminal shows what is expected or has ended. */
  async type(chars: string, expected: RegExp): Promise<void> {
    const from = this.#seen.length;
    await this.#write(chars);
    while (!expected.test(this.#seen.slice(from)) && this.exitCode === undefined) await this.#write('');
    if (!expected.test(this.#seen.slice(from))) throw new Error(`${expected} is not in ${this.#seen.slice(from)}`);
  }

  async #write(chars: string): Promise<void> {
    this.#last = await this.#user.call('write_stdin', { session_id: this.sessionId, chars, yield_time_ms: 400 });
    if (this.#last.isError) throw new Error(this.#last.text);
    this.#seen += String(this.#last.structured?.output);
  }
}

/** A directory to work in, one that is out of bounds, and one for rules. */
export class McpFixture implements AsyncDisposable {
  readonly #root = makeOutOfBounds('mcp');
  readonly work = this.#folder('work');
  readonly outside = this.#folder('outside');
  readonly home = this.#folder('home');

  /** The program on pipes, as a client starts it. */
  async open(
    args: readonly string[] = [],
    options: UserOptions = {},
    env: Record<string, string> = {},
  ): Promise<McpUser> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [serverProgram, 'mcp', '--cwd', this.work, ...args],
      env: { ...this.env, ...env },
      stderr: 'inherit',
    });
    return new McpUser(options).connect(transport);
  }

  get env(): Record<string, string> {
    const { PATH = '', HOME = '/' } = process.env;
    return { PATH, HOME, EXEC_SERVER_HOME: this.home };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#root, { recursive: true, force: true });
  }

  #folder(name: string): string {
    const path = join(this.#root, name);
    mkdirSync(path);
    return path;
  }
}
