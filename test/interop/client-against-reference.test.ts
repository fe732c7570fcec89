import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ExecServerClient, UnsupportedError } from '../../src/client/index.ts';
import { stdio } from '../../src/link/connect-stdio.ts';
import { PathUri } from '../../src/protocol/index.ts';
import { ServerUnderTest } from '../conformance/server-under-test.ts';
import { connect, describeClient, env, type ListeningServer, text } from '../support/client-specification.ts';
import { CuttableProxy } from '../support/cuttable-proxy.ts';
import { makeOutOfBounds } from '../support/out-of-bounds.ts';
import { referenceBinary } from '../support/reference.ts';

async function startReference(): Promise<ListeningServer> {
  const home = makeOutOfBounds('codex-home');
  const command = await referenceBinary();
  const args = ['exec-server', '--listen', 'ws://127.0.0.1:0'];
  const server = ServerUnderTest.start({ command, args, cwd: '/', env: { ...env, CODEX_HOME: home } });
  const dispose = async (): Promise<void> => {
    await server[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  };
  return { url: await server.url(), [Symbol.asyncDispose]: dispose };
}

describeClient('the reference', startReference);

it('says what the reference lacks when the end of input cannot be given to a pipe', async () => {
  await using server = await startReference();
  await using client = await connect(server.url);
  await using process = await client.start({ argv: ['cat'], env, pipeStdin: true });

  await expect(process.communicate('x')).rejects.toBeInstanceOf(UnsupportedError);
  await expect(process.resize(1, 1)).rejects.toThrow('it lacks the capability processResize');
});

it('names the output that the reference threw away while no client was connected', async () => {
  await using server = await startReference();
  await using proxy = await CuttableProxy.start(server.url);
  await using client = await connect(proxy.url, { resumeIntervalMs: 10 });
  await using observer = await connect(server.url);
  const home = makeOutOfBounds('codex-home');
  const done = join(home, 'done');
  const script = `read x; head -c 3000000 /dev/zero; echo end > ${done}; read x`;
  const process = await client.start({ argv: ['bash', '-c', script], env, pipeStdin: true });

  await process.write('go\n');
  proxy.refuse();
  proxy.cut();
  const path = PathUri.fromNative(done);
  while (!(await observer.request('fs/getMetadata', { path }).catch(() => undefined))?.size);
  proxy.accept();

  await expect(process.communicate()).rejects.toMatchObject({ name: 'OutputGapError', processId: process.processId });
  expect(client.state.phase).toBe('open');
  await process.terminate();
  await rm(home, { recursive: true });
});

it('sends messages in fragments that the reference would refuse whole', async () => {
  await using server = await startReference();
  await using client = await connect(server.url);
  const home = makeOutOfBounds('codex-home');
  const path = join(home, 'large');
  const content = randomBytes(30_000_000);

  await client.request('fs/writeFile', { path: PathUri.fromNative(path), dataBase64: content });
  const { dataBase64 } = await client.request('fs/readFile', { path: PathUri.fromNative(path) });

  expect((await readFile(path)).equals(content)).toBe(true);
  expect(Buffer.compare(dataBase64, content)).toBe(0);
  await rm(home, { recursive: true });
});

it('starts a reference server of its own and ends it with the connection', async () => {
  const home = makeOutOfBounds('codex-home');
  const command = [await referenceBinary(), 'exec-server', '--listen', 'stdio'];
  const client = await ExecServerClient.connect(
    stdio(command, { env: { ...env, CODEX_HOME: home }, stderr: 'ignore' }),
  );
  const process = await client.start({ argv: ['echo', 'hello'], env });

  expect(text((await process.communicate()).stdout)).toBe('hello\n');
  await client.close();
  expect(client.state).toMatchObject({ phase: 'closed' });
  await rm(home, { recursive: true });
});
