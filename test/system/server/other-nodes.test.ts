import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeProgram, otherNodes } from '../../../scripts/other-nodes.mjs';
import { announced, serverProgram, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';
import { outcomeOf, special } from '../sandbox/fixture.ts';

describe.each(otherNodes)('on Node %s a server', (version) => {
  let server: TestServer;
  let client: WireClient;
  let stderr: Promise<string>;
  let folder: string;
  beforeAll(async () => {
    const args = [serverProgram, '--listen', 'ws://127.0.0.1:0'];
    const child = spawn(nodeProgram(version), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    stderr = text(child.stderr);
    server = await announced(child);
    client = await connect(server.url);
    folder = mkdtempSync('/var/tmp/exec-server-other-nodes-');
  });
  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it('runs a command', async () => {
    const process = await client.start({ argv: ['/bin/sh', '-c', 'echo out; exit 3'] });
    expect(await outcomeOf(process)).toMatchObject({ stdout: 'out\n', exitCode: 3 });
  });

  it('runs a command in a terminal', async () => {
    const process = await client.start({ argv: ['/bin/sh', '-c', 'test -t 0 && echo terminal'], tty: true });
    await process.closed();
    expect(process.output('pty')).toBe('terminal\r\n');
  });

  it('runs a command in a sandbox', async () => {
    writeFileSync(join(folder, 'kept'), '');
    const sandbox = {
      permissions: {
        type: 'managed',
        file_system: { type: 'restricted', entries: [special('root', 'read')] },
        network: 'restricted',
      },
      windowsSandboxLevel: 'disabled',
      cwd: `file://${folder}`,
    };
    const script = 'ls; touch new 2>/dev/null || echo refused';
    const process = await client.start({ argv: ['/bin/sh', '-c', script], cwd: `file://${folder}`, sandbox });
    expect(await outcomeOf(process)).toMatchObject({ stdout: 'kept\nrefused\n', exitCode: 0 });
  });

  it('reads a file', async () => {
    writeFileSync(join(folder, 'greeting'), 'hello');
    const path = `file://${folder}/greeting`;
    expect(await client.call('fs/readFile', { path, sandbox: null })).toEqual({ dataBase64: 'aGVsbG8=' });
  });

  it('stops when it is told to, and has printed nothing but its address', async () => {
    expect(await server.stop()).toBe(0);
    expect(await stderr).toBe('');
  });
});
