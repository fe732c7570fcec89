import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { serverProgram } from '../../support/server.ts';

let folder: string;
let child: ChildProcessWithoutNullStreams;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-mcp-stop-')));
  for (const name of ['workspace', 'home', 'tmp']) mkdirSync(join(folder, name));
});
afterEach(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const places = () => ['workspace', 'tmp'].flatMap((name) => readdirSync(join(folder, name)));

const toolSets = {
  'unified-exec': (cmd: string) => ({ name: 'exec_command', arguments: { cmd, login: false } }),
  shell: (command: string) => ({ name: 'shell', arguments: { command, workdir: join(folder, 'workspace') } }),
};

/** A client that is connected and has read nothing yet. */
function start(tools: string): void {
  child = spawn(process.execPath, [serverProgram, 'mcp', '--tools', tools], {
    cwd: join(folder, 'workspace'),
    env: { ...process.env, HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp') },
  });
  const clientInfo = { name: 'test', version: '1' };
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
  send({ method: 'notifications/initialized' });
}

const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

describe.each(Object.entries(toolSets))('mcp --tools %s', (tools, call) => {
  it('ends when it is told to, although its client does not read', async () => {
    start(tools);
    for (let id = 1; id <= 1000; id++) send({ id, method: 'tools/list' });
    await once(child.stdout, 'readable');
    child.kill('SIGTERM');

    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('leaves no process and no mount point when its terminal is gone', async () => {
    const seconds = uniqueSeconds();
    start(tools);
    send({ id: 1, method: 'tools/call', params: call(`sleep ${seconds}`) });
    const sleeping = await appeared(seconds);
    child.kill('SIGHUP');

    expect(await once(child, 'exit')).toEqual([0, null]);
    await gone(sleeping);
    expect(places()).toEqual([]);
  });
});
