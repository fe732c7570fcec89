import { describe, expect, it } from 'vitest';
import { Scope } from '../../src/base/index.ts';
import { ExecServerClient } from '../../src/client/index.ts';
import { bearerToken, viaRegistry } from '../../src/relay/remote/index.ts';
import { CuttableProxy } from '../support/cuttable-proxy.ts';
import { numbersTo, sha256 } from '../support/digest.ts';
import { referenceBinary } from '../support/reference.ts';
import { BackgroundProgram } from '../support/remote-programs.ts';
import { startRendezvous } from '../system/rendezvous/fixture.ts';
import { Workspace } from './workspace.ts';

/** The real executor and our harness at our rendezvous, each over a network that can be cut. */
async function meet(scope: Scope) {
  const workspace = scope.own(await Workspace.make());
  const network = scope.own(await CuttableProxy.start('ws://127.0.0.1:1'));
  const registryUrl = network.url.replace('ws:', 'http:');
  const rendezvous = scope.own(await startRendezvous({ publicUrl: registryUrl }));
  network.retarget(rendezvous.url);
  scope.own(
    new BackgroundProgram({
      command: [await referenceBinary(), 'exec-server'],
      args: ['--remote', registryUrl, '--environment-id', 'box'],
      env: workspace.env({ CODEX_HOME: workspace.serverHome, CODEX_API_KEY: rendezvous.tokens.executor }),
      cwd: workspace.root,
    }),
  );
  const credentials = bearerToken(rendezvous.tokens.harness);
  const route = viaRegistry({ registryUrl, environmentId: 'box', credentials });
  const client = scope.own(await ExecServerClient.connect(route));
  const env = workspace.env({});
  return { workspace, network, client, place: { cwd: workspace.cwd, env } };
}

describe('our harness in the real environment', () => {
  it('gets every byte of a long output', async () => {
    await using scope = new Scope();
    const { client, place } = await meet(scope);

    const process = await client.start({ argv: ['seq', '1', '2000000'], ...place });
    const seen: Uint8Array[] = [];
    for await (const { bytes } of process.output) seen.push(bytes);

    expect(sha256(Buffer.concat(seen))).toBe(sha256(numbersTo(2_000_000)));
  });

  it('works in a terminal', async () => {
    await using scope = new Scope();
    const { client, place } = await meet(scope);
    const script = 'test -t 0 && test -t 1 && stty size; read line; echo "<$line>"; exit 7';
    const process = await client.start({ argv: ['sh', '-c', script], tty: true, ...place });

    let seen = '';
    for await (const { bytes } of process.output) {
      if (seen === '') await process.write(Buffer.from('typed\n'));
      seen += Buffer.from(bytes).toString();
    }

    expect(seen).toContain('24 80\r\n');
    expect(seen).toContain('<typed>\r\n');
    expect((await process.wait()).exitCode).toBe(7);
  });

  it('goes on where it was after both lost their connections while something was printed', async () => {
    await using scope = new Scope();
    const { client, network, place } = await meet(scope);
    const { sessionId } = client;
    const part = 'read line; seq 1 50000';
    const argv = ['sh', '-c', `${part}; ${part}`];
    const process = await client.start({ argv, pipeStdin: true, ...place });

    const wanted = Buffer.concat([numbersTo(50_000), numbersTo(50_000)]);
    const seen: Uint8Array[] = [];
    let bytes = 0;
    const goOn = (): Promise<void> => {
      network.cutAfter(100_000);
      return process.write(Buffer.from('on\n'));
    };
    await goOn();
    for await (const chunk of process.output) {
      seen.push(chunk.bytes);
      bytes += chunk.bytes.length;
      if (bytes === wanted.length / 2) await goOn();
    }

    expect((await process.wait()).exitCode).toBe(0);
    expect(sha256(Buffer.concat(seen))).toBe(sha256(wanted));
    expect(client.sessionId).toBe(sessionId);
  });
});
