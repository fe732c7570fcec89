import { EventEmitter, on } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { RunningCommand } from './running-command.ts';
import { parseToolResult, type ToolResult } from './tool-result.ts';

type Item = Record<string, unknown>;

/** One request of the client, held open until the script says what the model answers. */
interface Turn {
  readonly input: readonly Item[];
  /** What the model may call. */
  readonly tools: readonly Item[];
  readonly response: ServerResponse;
}

/** Arguments as a string are sent as they are, so that they can be wrong. */
export type ToolCall = { name: string; arguments: object | string } | { name: string; input: string };

/** Speaks the Responses API on loopback; the test's body decides what the model says next. */
export class ScriptedModel implements AsyncDisposable {
  /** Everything the model was shown, in order. */
  readonly seen: ToolResult[] = [];
  readonly #signal: AbortSignal;
  readonly #arrivals = new EventEmitter();
  readonly #turns: AsyncIterator<[Turn]>;
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  #current: Turn | undefined;
  #calls = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#turns = on(this.#arrivals, 'turn', { signal }) as AsyncIterator<[Turn]>;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Calls `exec_command`; a login shell would add the output of the machine's start-up files. */
  exec(cmd: string, args: object = {}): Promise<ToolResult> {
    return this.#one({ name: 'exec_command', arguments: { cmd, login: false, ...args } });
  }

  /** Starts a command that is still running when its first window of output ends. */
  async open(cmd: string, args: object = {}): Promise<RunningCommand> {
    return new RunningCommand(this, await this.exec(cmd, { yield_time_ms: 500, ...args }));
  }

  stdin(sessionId: number, chars: string, yieldMs: number): Promise<ToolResult> {
    return this.#one({ name: 'write_stdin', arguments: { session_id: sessionId, chars, yield_time_ms: yieldMs } });
  }

  patch(...lines: string[]): Promise<ToolResult> {
    return this.#one({ name: 'apply_patch', input: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n') });
  }

  viewImage(path: string): Promise<ToolResult> {
    return this.#one({ name: 'view_image', arguments: { path } });
  }

  /** Calls several tools in one answer, which the client runs side by side; their results in the same order. */
  async call(calls: readonly ToolCall[]): Promise<ToolResult[]> {
    const items = calls.map((call) => ({ call_id: `call_${++this.#calls}`, ...itemOf(call) }));
    await this.#answer(...items);
    const { input } = await this.#turn();
    const results = items.map(({ call_id, name }) => {
      const found = input.find((item) => item.call_id === call_id && String(item.type).endsWith('_output'));
      if (!found) throw new Error(`the client went on without a result for ${name}`);
      return parseToolResult(typeof found.output === 'string' ? found.output : JSON.stringify(found.output));
    });
    this.seen.push(...results);
    return results;
  }

  /** What the client offers its model. */
  async tools(): Promise<readonly Item[]> {
    return (await this.#turn()).tools;
  }

  /** A message without a tool call ends the turn. */
  async say(text: string): Promise<void> {
    await this.#answer({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #one(call: ToolCall): Promise<ToolResult> {
    const [result] = await this.call([call]);
    return result!;
  }

  async #turn(): Promise<Turn> {
    if (this.#current) return this.#current;
    const next = await this.#turns.next().catch(() => undefined);
    if (!next || next.done) throw this.#signal.reason;
    this.#current = next.value[0];
    return this.#current;
  }

  async #answer(...items: Item[]): Promise<void> {
    const { response } = await this.#turn();
    this.#current = undefined;
    const event = (type: string, fields: object) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    const id = 'response';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    event('response.created', { response: { id } });
    for (const item of items) event('response.output_item.done', { item });
    event('response.completed', { response: { id, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } });
    response.end();
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || !request.url?.endsWith('/responses')) {
      response.writeHead(404).end('{}');
      return;
    }
    const { input, tools = [] } = (await json(request)) as { input: Item[]; tools?: Item[] };
    this.#arrivals.emit('turn', { input, tools, response } satisfies Turn);
  }
}

function itemOf(call: ToolCall): { type: string; name: string; arguments?: string; input?: string } {
  if ('input' in call) return { type: 'custom_tool_call', ...call };
  const { name, arguments: args } = call;
  return { type: 'function_call', name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}
