import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { stdio } from '../../../src/link/connect-stdio.ts';
import { webSocket } from '../../../src/link/websocket/connect-websocket.ts';
import { connect, env, text } from '../../support/client-specification.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { sha256 } from '../../support/digest.ts';
import { serverProgram, startServer } from '../../support/server.ts';

/** Prints 40 MB of text that differs everywhere. */
const flood = { argv: ['seq', '1', '5300000'], env, cwd: '/' };

function floodDigest(): string {
  const hash = createHash('sha256');
  for (let first = 1; first <= 5_300_000; first += 100_000) {
    hash.update(Array.from({ length: 100_000 }, (_, index) => `${first + index}\n`).join(''));
  }
  return hash.digest('hex');
}

describe('a client of our server', () => {
  it('loses nothing of a flood while its connection is cut at random moments', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    await using client = await connect(proxy.url, { resumeIntervalMs: 5 });
    const process = await client.start(flood);

    const hash = createHash('sha256');
    let untilCut = 0;
    for await (const { bytes } of process.output) {
      hash.update(bytes);
      untilCut -= bytes.length;
      if (untilCut > 0) continue;
      proxy.cutAfter(Math.floor(Math.random() * 1_000_000) + 1);
      untilCut = 3_000_000;
    }

    expect(hash.digest('hex')).toBe(floodDigest());
    expect(proxy.accepted).toBeGreaterThan(5);
  });

  it('notices a connection that is lost without being closed, resumes, and loses nothing', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    await using client = await ExecServerClient.connect(webSocket(proxy.url, { pingIntervalMs: 100 }));
    const process = await client.start(flood);
    const hash = createHash('sha256');
    let printed = 0;

    for await (const { bytes } of process.output) {
      if (printed === 0) proxy.silence();
      printed += bytes.length;
      hash.update(bytes);
    }

    expect(hash.digest('hex')).toBe(floodDigest());
    expect(proxy.accepted).toBe(2);
  });

  it('finds all output of a process that went on printing while no client was connected', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    await using client = await connect(proxy.url, { resumeIntervalMs: 20 });
    const process = await client.start(flood);
    const hash = createHash('sha256');
    let printed = 0;

    for await (const { bytes } of process.output) {
      if (printed === 0) {
        proxy.refuse();
        proxy.cut();
        void proxy.untilRefused(10).then(() => proxy.accept());
      }
      printed += bytes.length;
      hash.update(bytes);
    }

    expect(hash.digest('hex')).toBe(floodDigest());
  });

  it('gives a pipe its input and the end of it', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const input = Buffer.alloc(20_000_000, 'abcdefg\n');
    const process = await client.start({ argv: ['sha256sum'], env, pipeStdin: true });

    const { stdout, exitCode } = await process.communicate(input);

    const digest = sha256(input);
    expect({ stdout: text(stdout), exitCode }).toEqual({ stdout: `${digest}  -\n`, exitCode: 0 });
  });

  it('is not disturbed by a process that does not read its input', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['true'], env, pipeStdin: true });

    expect(await process.communicate(Buffer.alloc(20_000_000))).toMatchObject({ exitCode: 0 });
  });

  it('sets and changes the size of a terminal', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const script = 'stty -echo; stty size; read x; stty size';
    const io = { type: 'pty', rows: 10, cols: 20 } as const;
    const process = await client.start({ argv: ['bash', '-c', script], env, io });
    for await (const { bytes } of process.output) if (text(bytes).includes('10 20')) break;

    await process.resize(30, 40);
    await process.write('\n');
    const { terminal } = await process.communicate();

    expect(text(terminal)).toContain('30 40');
  });

  it('starts a server of its own and ends it with the connection, without hope of resuming', async () => {
    const command = [process.execPath, serverProgram, '--listen', 'stdio'];
    const client = await ExecServerClient.connect(stdio(command, { stderr: 'ignore' }));
    const remote = await client.start({ argv: ['bash', '-c', 'echo $PPID; read x'], env, pipeStdin: true });
    let serverPid = 0;
    for await (const { bytes } of remote.output) {
      serverPid = Number(text(bytes));
      break;
    }

    process.kill(serverPid, 'SIGKILL');

    expect((await client.closed).message).toBe('the connection was lost');
    await expect(remote.wait()).rejects.toThrow('the connection was lost');
    await client.close();
  });
});
