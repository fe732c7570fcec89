import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { serverProgram, startServer, TestServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

describe('the process of the server', () => {
  it.each(accounts)('cannot be read by others of its user, run by $name', async (account) => {
    await using fixture = await SandboxFixture.open(account);
    expect(statSync(`/proc/${fixture.server.pid}/environ`).uid).toBe(0);
    const peek = `cat /proc/${fixture.server.pid}/environ > /dev/null`;
    const process = await fixture.client.start({ argv: ['/bin/sh', '-c', peek] });
    expect(await process.exited()).toBe(account.uid === 0 ? 0 : 1);
  });

  it('leaves no core file, while its commands may', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const limits = readFileSync(`/proc/${server.pid}/limits`, 'utf8');
    expect(limits).toMatch(/Max core file size\s+0 /);
    const own = /Max core file size\s+(\S+)/.exec(readFileSync('/proc/self/limits', 'utf8'))![1]!;
    const process = await client.start({ argv: ['cat', '/proc/self/limits'] });
    await process.closed();
    expect(/Max core file size\s+(\S+)/.exec(process.output())![1]).toBe(own);
  });

  it('passes on no descriptor that it was started with', async () => {
    const start = `exec 5</etc/hostname 40</etc/hostname; exec "$@"`;
    const argv = ['-c', start, 'bash', process.execPath, serverProgram, '--listen', 'ws://127.0.0.1:0'];
    const child = spawn('bash', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [url] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    await using server = new TestServer(url, child);
    await using client = await connect(server.url);
    expect(readdirSync(`/proc/${server.pid}/fd`)).not.toContain('40');
    const command = await client.start({ argv: ['bash', '-c', 'readlink /proc/$$/fd/*'] });
    await command.closed();
    expect(command.output()).not.toContain('/etc/hostname');
  });

  it.each([
    ['exec-mcp-server', ['mcp', '--tools', 'shell', '--intercept=all', '--bash=/bin/bash']],
    ['rendezvous', ['rendezvous', '--listen', 'http://127.0.0.1:0']],
  ])('is as closed for %s', async (name, args) => {
    const start = `ulimit -S -c 1024; exec 40</etc/hostname; exec "$@"`;
    const argv = ['-c', start, 'bash', process.execPath, serverProgram, ...args];
    const child = spawn('bash', argv, { stdio: ['pipe', 'pipe', 'ignore'] });
    if (name === 'exec-mcp-server') {
      const clientInfo = { name: 'test', version: '1' };
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    }
    await once(createInterface({ input: child.stdout }), 'line');
    const limits = readFileSync(`/proc/${child.pid}/limits`, 'utf8');
    const descriptors = readdirSync(`/proc/${child.pid}/fd`);
    child.kill('SIGKILL');
    await once(child, 'exit');

    expect(limits).toMatch(/Max core file size\s+0 /);
    expect(descriptors).not.toContain('40');
  });

  it('keeps what makes programs load code to itself, unless a request sends it', async () => {
    await using server = await startServer({ env: { NODE_OPTIONS: '--no-warnings', LD_BIND_NOW: '1', KEPT: 'yes' } });
    await using client = await connect(server.url);
    const envPolicy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
    const process = await client.start({ argv: ['env'], env: { LD_DEBUG_OUTPUT: '/dev/null' }, envPolicy });
    await process.closed();
    const lines = process.output().split('\n');
    expect(lines).toEqual(expect.arrayContaining(['KEPT=yes', 'LD_DEBUG_OUTPUT=/dev/null']));
    expect(process.output()).not.toMatch(/NODE_OPTIONS|LD_BIND_NOW/);
  });
});
