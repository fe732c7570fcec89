import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

let server: TestServer;
let client: WireClient;
beforeAll(async () => {
  server = await startServer();
  client = await connect(server.url);
});
afterAll(async () => {
  client.cut();
  await server.stop();
});

const merged = { type: 'pipe', stdin: 'closed', stderr: 'stdout' };
const script = 'i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done';
const inOrder = Array.from({ length: 500 }, (_, i) => `out ${i}\nerr ${i}\n`).join('');

describe('stderr in the pipe of stdout', () => {
  it('keeps the order in which both were written', async () => {
    const process = await client.start({ argv: ['sh', '-c', script], io: merged });
    await process.closed();
    expect(process.output('stdout')).toBe(inOrder);
    expect(process.output('stderr')).toBe('');
  });

  it('is one pipe for the command, which can open both by name', async () => {
    const script = 'readlink /proc/self/fd/1; readlink /proc/self/fd/2; echo a > /dev/stdout; echo b > /dev/stderr';
    const process = await client.start({ argv: ['sh', '-c', script], io: merged });
    await process.closed();
    const [first, second, ...rest] = process.output('stdout').split('\n');
    expect(first).toMatch(/^pipe:\[\d+\]$/);
    expect([second, ...rest]).toEqual([first, 'a', 'b', '']);
  });

  it('is closed when the last of both is, and reads stdin as usual', async () => {
    const io = { ...merged, stdin: 'open' };
    const process = await client.start({ argv: ['sh', '-c', 'exec 1>&-; cat >&2'], io });
    const chunk = Buffer.from('typed').toString('base64');
    await client.call('process/write', { processId: process.id, writeId: 'w', chunk });
    await client.call('process/closeStdin', { processId: process.id });
    expect(await process.transcript()).toEqual([
      { event: 'output', stream: 'stdout', text: 'typed' },
      { event: 'exited', exitCode: 0 },
      { event: 'closed' },
    ]);
  });

  it('is in the snapshot as stdout', async () => {
    const process = await client.start({ argv: ['sh', '-c', 'echo e >&2'], io: merged });
    await process.closed();
    const snapshot = await client.call('process/snapshot', { processId: process.id });
    expect(snapshot).toMatchObject({ stdout: Buffer.from('e\n').toString('base64'), stderr: '' });
  });

  it.each(['separate', null, undefined])('is a pipe of its own with stderr: %s', async (stderr) => {
    const process = await client.start({ argv: ['sh', '-c', 'echo e >&2'], io: { ...merged, stderr } });
    await process.closed();
    expect([process.output('stdout'), process.output('stderr')]).toEqual(['', 'e\n']);
  });
});

describe.each(accounts)('in a sandbox, for a server run by $name', (account) => {
  it('keeps the order as well, also of the second command, for which a launcher has waited', async () => {
    await using fixture = await SandboxFixture.open(account);
    for (const _ of ['cold', 'warm']) {
      const process = await fixture.start(script, { start: { tty: undefined, pipeStdin: undefined, io: merged } });
      await process.closed();
      expect(process.output('stdout')).toBe(inOrder);
    }
  });
});
