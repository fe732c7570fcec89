import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { gone, isAlive } from '../../support/proc.ts';
import { startServer } from '../../support/server.ts';
import { eras, McpFixture } from './fixture.ts';

describe.each(eras)('commands of an MCP client of %s', (era) => {
  it('are run, and their results are text and data', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });

    const answer = await user.exec('echo out; pwd; exit 3');

    expect(answer).toEqual({
      isError: false,
      text: expect.stringMatching(
        /^Chunk ID: [0-9a-f]{6}\nWall time: [\d.]+ seconds\nProcess exited with code 3\nOriginal token count: \d+\nOutput:\nout\n/,
      ),
      structured: expect.objectContaining({ exit_code: 3, output: `out\n${fixture.work}\n` }),
    });
  });

  it('come back by a session id while they run, and are followed over several calls', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });
    const script =
      'stty -echo; echo ready; while read -r line && [ "$line" != end ]; do echo "got $line"; done; exit 4';

    const terminal = await user.terminal(script);
    await terminal.type('one\n', /^got one\r\n$/);
    await terminal.type('two\n', /^got two\r\n$/);
    await terminal.type('end\n', /^$/);

    expect([terminal.seen, terminal.exitCode]).toEqual(['ready\r\ngot one\r\ngot two\r\n', 4]);
    expect(await user.call('write_stdin', { session_id: terminal.sessionId })).toEqual({
      isError: true,
      text: `write_stdin failed: Unknown process id ${terminal.sessionId}`,
      structured: undefined,
    });
  });

  it('are polled until they end', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });
    await user.exec('mkfifo fifo');

    const first = await user.exec('cat fifo; exit 6', { yield_time_ms: 250 });
    const polled = user.call('write_stdin', { session_id: first.structured?.session_id });
    await writeFile(join(fixture.work, 'fifo'), 'late\n');

    expect(first.structured).not.toHaveProperty('exit_code');
    expect((await polled).structured).toMatchObject({ exit_code: 6, output: 'late\n' });
  });

  it('outlast the time limit of the client, because no call does', async () => {
    const timeout = 8000; // two calls that take all their time are longer
    await using fixture = new McpFixture();
    await using user = await fixture.open(['--longest-wait-ms', '5000'], { era });
    await user.exec('mkfifo fifo');

    const first = await user.exec('cat fifo; exit 6', { yield_time_ms: 30_000 }, { timeout });
    const poll = { session_id: first.structured?.session_id, yield_time_ms: 300_000 };
    const second = await user.call('write_stdin', poll, { timeout });
    expect(second.structured).not.toHaveProperty('exit_code');
    const last = user.call('write_stdin', poll, { timeout });
    await writeFile(join(fixture.work, 'fifo'), 'late\n');

    expect((await last).structured).toMatchObject({ exit_code: 6, output: 'late\n' });
  });

  it('say that they go on to a client that wants to know', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });
    await user.exec('mkfifo fifo');
    const messages: (string | undefined)[] = [];

    const onprogress = ({ message }: { message?: string | undefined }) => {
      messages.push(message);
      if (messages.length === 1) void writeFile(join(fixture.work, 'fifo'), 'go\n');
    };
    const answer = await user.exec('cat fifo', { yield_time_ms: 30_000 }, { onprogress });

    expect(answer.structured).toMatchObject({ exit_code: 0, output: 'go\n' });
    expect(messages[0]).toMatch(/^exec_command has been going on for \d+ s$/);
  });

  it('go on when the call is cancelled', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });
    const at = (name: string) => join(fixture.work, name);
    await user.exec('mkfifo started fifo result');
    const cancel = new AbortController();

    const script = 'echo started > started; read -r line < fifo; echo "got $line" > result';
    const waiting = user.exec(script, { yield_time_ms: 30_000 }, cancel).catch((error: Error) => error);
    const started = await readFile(at('started'), 'utf8');
    cancel.abort();
    const outcome = await waiting;
    await writeFile(at('fifo'), 'hello\n');

    expect([started, outcome]).toEqual(['started\n', expect.any(Error)]);
    expect(await readFile(at('result'), 'utf8')).toBe('got hello\n');
  });

  it('may not be called wrongly without being told what is wrong', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open([], { era });

    expect(await user.call('exec_command', {})).toMatchObject({
      isError: true,
      text: 'failed to parse function arguments: missing field `cmd` at line 1 column 2',
    });
    expect(await user.call('exec_command', { cmd: 'true', shell: 7 })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^failed to parse function arguments: invalid type: integer `7`, expected a string/),
    });
    await expect(user.call('no_such_tool')).rejects.toThrow('unsupported call: no_such_tool');
  });
});

describe('a terminal of an MCP client', () => {
  it('runs a Python prompt that is typed to, interrupted and left', async () => {
    await using fixture = new McpFixture();
    // The sandbox of bubblewrap has no controlling terminal: Ctrl-C ends it, as it does in the reference.
    await using user = await fixture.open(['--sandbox', 'danger-full-access']);

    const python = await user.terminal('exec /usr/bin/python3 -q');
    await python.type('print(6 * 7)\n', /\n42\r\n/);
    await python.type('import time\n', />>> $/);
    await python.type('print("st" + "arted"); time.sleep(1000)\n', /\nstarted\r\n/);
    await python.type('\u0003', /KeyboardInterrupt\r\n/);
    await python.type('exit(5)\n', /$/);
    while (python.exitCode === undefined) await python.type('', /$/);

    expect(python.exitCode).toBe(5);
  });

  it('has a size, and one that the shell can change', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open();

    const shell = await user.terminal('exec bash --norc -i');
    await shell.type('stty size\n', /\n[1-9]\d* [1-9]\d*\r\n/);
    await shell.type('stty rows 41 cols 97; stty size\n', /\n41 97\r\n/);
    await shell.type(
      'python3() { /usr/bin/python3 -c "import os; print(*os.get_terminal_size())"; }; python3\n',
      /\n97 41\r\n/,
    );

    expect(shell.exitCode).toBeUndefined();
  });
});

describe('exec-server mcp', () => {
  it('offers these tools, each with schemas for what goes in and comes out', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open();

    const { tools } = await user.client.listTools();

    expect(tools.map(({ name }) => name)).toEqual([
      ...['exec_command', 'write_stdin', 'read_file', 'write_file', 'list_dir', 'apply_patch'],
    ]);
    for (const { name, inputSchema, outputSchema, description } of tools) {
      expect([name, inputSchema.additionalProperties, outputSchema?.type]).toEqual([name, false, 'object']);
      expect(description).not.toBe('');
    }
    expect(user.client.getInstructions()).toContain(fixture.work);
    expect(JSON.stringify(tools[1]?.inputSchema.properties)).toContain('5000 to 30000 ms');
  });

  it('ends with its input, and what it started ends with it', async () => {
    await using fixture = new McpFixture();
    const user = await fixture.open(['--sandbox', 'danger-full-access']);
    const { structured } = await user.exec('echo $$; exec sleep 1000', { yield_time_ms: 250 });
    const pid = Number(String(structured?.output).trim());

    expect(isAlive(pid)).toBe(true);
    await user[Symbol.asyncDispose]();
    await gone([pid]);
  });

  it('works on a server elsewhere, to which it presents a token', async () => {
    await using fixture = new McpFixture();
    const token = join(fixture.home, 'token');
    await writeFile(token, 'open-sesame\n', { mode: 0o600 });
    const auth = ['--ws-auth', 'capability-token', '--ws-token-file', token];
    await using server = await startServer({ cwd: fixture.outside, args: auth });
    const connect = ['--connect', server.url, '--cwd', fixture.outside];
    await using user = await fixture.open([...connect, '--token-file', token]);

    await user.call('write_file', { path: 'made', content: 'remotely\n' });
    const { structured } = await user.exec('cat made; pwd');

    expect(structured?.output).toBe(`remotely\n${fixture.outside}\n`);
    expect(existsSync(join(fixture.outside, 'made'))).toBe(true);
    expect(await runCommand(['mcp', ...connect])).toMatchObject({ code: 1, stderr: expect.stringContaining('401') });
  });
});
