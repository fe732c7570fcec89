import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { runPlainEnvironment, viaPlainRelay } from '../../../src/relay/remote/index.ts';
import { runCommand } from '../../support/command.ts';
import { TestEnvironment } from '../../support/remote-fixture.ts';
import { BackgroundProgram } from '../../support/remote-programs.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';

/** A registry of the older kind: it knows no keys and gives a new address for every connection. */
async function olderRegistry(): Promise<ScriptedRegistry> {
  const registry = await ScriptedRegistry.start();
  registry.script = () => ({ body: { environment_id: 'env', url: address(registry, 'environment') } });
  return registry;
}

const address = (registry: ScriptedRegistry, role: string): string =>
  `${registry.url.replace('http', 'ws')}/ws?role=${role}&n=${registry.count('register')}`;

describe('the older, plain relay', () => {
  it('carries messages in the clear', async () => {
    await using registry = await olderRegistry();
    await using _environment = new TestEnvironment(registry, {}, runPlainEnvironment);
    await registry.connected();
    await using client = await ExecServerClient.connect(viaPlainRelay(address(registry, 'harness')));

    const process = await client.start({ argv: ['wc', '-c'], io: { type: 'pipe', stdin: 'open' } });
    const { stdout } = await process.communicate(new Uint8Array(200_000));

    expect(Buffer.from(stdout).toString()).toBe('200000\n');
    expect(registry.requests[0]).toMatchObject({ call: 'register', body: {} });
  });

  it('registers before every connection, and sessions outlive them', async () => {
    await using registry = await olderRegistry();
    await using environment = new TestEnvironment(registry, {}, runPlainEnvironment);
    await registry.connected();
    await using client = await ExecServerClient.connect(viaPlainRelay(address(registry, 'harness')));
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
    await process.write(Buffer.from('before '));

    registry.environment!.terminate();
    const { stdout } = await process.communicate(Buffer.from('after'));

    expect(Buffer.from(stdout).toString()).toBe('before after');
    expect(registry.count('register')).toBe(2);
    expect(environment.clock.waits).toEqual([1000]);
  });

  it('is spoken by the command line where it is asked for', async () => {
    await using registry = await olderRegistry();
    const args = ['--remote', registry.url, '--environment-id', 'env', '--remote-transport', 'plain'];
    await using environment = new BackgroundProgram({ args, env: { CODEX_API_KEY: 'key' } });
    await environment.logs('rendezvous.connected');

    const outcome = await runCommand([
      'run',
      '--connect',
      address(registry, 'harness'),
      '--',
      'sh',
      '-c',
      'echo hi; exit 3',
    ]);

    expect(outcome).toEqual({ code: 3, stdout: 'hi\n', stderr: '' });
  });
});
