import { mkdirSync, mkdtempSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ExecServerClient, type RemoteProcess } from '../../../src/client/index.ts';
import { memoryLinkPair, webSocket } from '../../../src/link/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { Peer } from '../../../src/rpc/index.ts';
import { argumentsOf } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { accounts, SandboxFixture, uri, workspaceWrite } from '../sandbox/fixture.ts';

interface Usage {
  readonly pid: number;
  readonly cwd: string | null;
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly descendants: number;
}

let server: TestServer;
let client: ExecServerClient;
beforeAll(async () => {
  server = await startServer();
  client = await ExecServerClient.connect(webSocket(server.url));
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

/** Starts a shell script that prints something when it is ready. */
async function started(script: string, cwd = '/'): Promise<RemoteProcess> {
  const process = await client.start({ argv: ['sh', '-c', script], cwd, env: { PATH: '/usr/bin:/bin' } });
  onTestFinished(() => process[Symbol.asyncDispose]());
  const output = process.output[Symbol.asyncIterator]();
  await output.next();
  return process;
}

describe('process/stat', () => {
  it('tells the number of a command and where it works now', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-usage-')));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'sub'));
    const process = await client.start({
      argv: ['sh', '-c', 'cd sub; echo $$; read -r _'],
      cwd: folder,
      env: { PATH: '/usr/bin:/bin' },
      pipeStdin: true,
    });
    onTestFinished(() => process[Symbol.asyncDispose]());
    const { value } = await process.output[Symbol.asyncIterator]().next();
    const { pid, cwd, rssBytes, descendants } = await process.stat();
    expect({ pid, cwd: cwd?.href, descendants }).toEqual({
      pid: Number(Buffer.from((value as { bytes: Uint8Array }).bytes).toString()),
      cwd: PathUri.fromNative(join(folder, 'sub')).href,
      descendants: 0,
    });
    expect(rssBytes).toBeGreaterThan(100_000);
    rmdirSync(join(folder, 'sub'));
    expect((await process.stat()).cwd).toBe(null);
  });

  it('counts what it has started, also what has made itself a daemon', async () => {
    const process = await started('sleep 900 & (setsid sleep 900 &); echo ready; wait');
    await expect.poll(async () => (await process.stat()).descendants).toBe(2);
  });

  it('tells the processor time of children that live and of those that were waited for', async () => {
    const burn = 'n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done';
    const waited = await started(`sh -c '${burn}'; echo ready; sleep 900`);
    expect((await waited.stat()).cpuMs).toBeGreaterThan(20);
    const idle = await started('echo ready; exec sleep 900');
    expect((await idle.stat()).cpuMs).toBeLessThan((await waited.stat()).cpuMs);
  });

  it('goes on to tell what an ended command has left running', async () => {
    const process = await started('sleep 900 & echo ready');
    await process.wait({ until: 'exited' });
    expect(await process.stat()).toMatchObject({ cwd: null, descendants: 1 });
    await process.terminate();
  });

  it('knows nothing of a process that was never started', async () => {
    await expect(client.request('process/stat', { processId: 'nothing' })).rejects.toMatchObject({
      kind: 'invalidRequest',
      message: 'unknown process id nothing',
    });
  });

  it('is not sent to a server that does not announce it', async () => {
    const older = await ExecServerClient.connect(async () => {
      const [near, far] = memoryLinkPair();
      new Peer(far, {
        lane: () => 'ordinary',
        request: () => ({ sessionId: 's', environmentInfo: { shell: { name: 'sh', path: '/bin/sh' } } }),
        notification: () => {},
        violation: () => {},
      });
      return near;
    });
    onTestFinished(() => older.close());
    await expect(older.request('process/stat', { processId: 'p' })).rejects.toThrow(
      'the server cannot answer process/stat: it lacks the capability processStat',
    );
  });
});

describe.each(accounts)('process/stat of a sandboxed command, for a server run by $name', (account) => {
  it('tells of the command and not of its sandbox', async () => {
    await using fixture = await SandboxFixture.open(account);
    const process = await fixture.start('cd sub; sleep 900 & echo ready; wait', { entries: workspaceWrite });
    await process.printed('ready');
    const { pid, cwd, descendants, rssBytes } = await fixture.client.call<Usage>('process/stat', {
      processId: process.id,
    });
    expect({ cwd, descendants }).toEqual({ cwd: uri(join(fixture.workspace, 'sub')), descendants: 1 });
    expect(argumentsOf(pid).slice(0, 2)).toEqual(['/bin/bash', '-c']);
    expect(rssBytes).toBeGreaterThan(100_000);
    await fixture.client.call('process/terminate', { processId: process.id });
    await process.closed();
    expect(await fixture.client.call<Usage>('process/stat', { processId: process.id })).toMatchObject({
      cwd: null,
      cpuMs: 0,
      rssBytes: 0,
      descendants: 0,
    });
  });
});
