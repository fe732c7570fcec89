import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RemoteFileSystem } from '../../../src/client/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { forwardTo } from '../../../src/relay/remote/index.ts';
import { connectHarness, InstantClock, recordingLogger, TestEnvironment } from '../../support/remote-fixture.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';
import { startServer } from '../../support/server.ts';

const forwarding = (registry: ScriptedRegistry, url: string, log: string[] = []): TestEnvironment =>
  new TestEnvironment(registry, { accept: forwardTo(url, recordingLogger(log)) });

describe('a forwarded server', () => {
  it('is reached by name, with messages of any size as they are', async () => {
    await using server = await startServer();
    await using registry = await ScriptedRegistry.start();
    await using _forward = forwarding(registry, server.url);
    await registry.connected();
    await using client = await connectHarness(registry);

    const process = await client.start({ argv: ['wc', '-c'], io: { type: 'pipe', stdin: 'open' } });
    const { stdout, exitCode } = await process.communicate(new Uint8Array(3_000_000));

    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['3000000\n', 0]);
  });

  it('keeps the sessions: a harness that lost its connection goes on', async () => {
    await using server = await startServer();
    await using registry = await ScriptedRegistry.start();
    await using _forward = forwarding(registry, server.url);
    await registry.connected();
    await using client = await connectHarness(registry);
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
    await process.write(Buffer.from('before '));

    for (const socket of registry.harnesses.values()) socket.terminate();
    const { stdout } = await process.communicate(Buffer.from('after'));

    expect(Buffer.from(stdout).toString()).toBe('before after');
  });

  it('answers with an error for a message that is too large for the relay, and goes on, for this harness and others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-forward-'));
    writeFileSync(join(folder, 'large'), Buffer.alloc(60 * 2 ** 20)); // 80 MiB as base64
    await using server = await startServer();
    await using registry = await ScriptedRegistry.start();
    await using _forward = forwarding(registry, server.url);
    await registry.connected();
    await using client = await connectHarness(registry);
    await using other = await connectHarness(registry);
    const kept = await other.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
    const file = new RemoteFileSystem(client).readFile(PathUri.fromNative(join(folder, 'large')));

    await expect(file).rejects.toThrow(/^the answer of \d+ bytes is larger than the 67108864 a relay carries/);

    const process = await client.start({ argv: ['echo', 'on'] });
    expect(Buffer.from((await process.communicate()).stdout).toString()).toBe('on\n');
    expect(Buffer.from((await kept.communicate(Buffer.from('kept'))).stdout).toString()).toBe('kept');
    rmSync(folder, { recursive: true });
  });

  it('ends the connections of its harnesses when it ends', async () => {
    const server = await startServer();
    await using registry = await ScriptedRegistry.start();
    await using _forward = forwarding(registry, server.url);
    await registry.connected();
    const client = await connectHarness(registry, { clock: new InstantClock() }, { resumeTimeoutMs: 500 });

    await server.stop('SIGKILL');

    expect((await client.closed).message).toContain('cannot be resumed: recovery timed out');
  });

  it('that is not there is told to a harness as the reason why it cannot connect', async () => {
    const log: string[] = [];
    await using registry = await ScriptedRegistry.start();
    await using _forward = forwarding(registry, 'ws://127.0.0.1:1', log);
    await registry.connected();

    await expect(connectHarness(registry, {}, { initializeTimeoutMs: 5000 })).rejects.toThrow(
      'the server of this environment cannot be reached: cannot connect to ws://127.0.0.1:1: no server listens there',
    );

    expect(registry.count('validate')).toBe(1);
    expect(log.join()).toContain('forward.destination_unreachable');
  });

  it.each(['http://127.0.0.1:1', 'ws://', 'somewhere'])('is not %s', (url) => {
    expect(() => forwardTo(url, recordingLogger([]))).toThrow('forward destination must be a ws:// or wss:// URL');
  });
});
