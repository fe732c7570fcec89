import { describe, expect, it } from 'vitest';
import { ExecServerClient, RemoteFileSystem } from '../../../src/client/index.ts';
import { memoryLinkPair } from '../../../src/link/index.ts';
import { ExecError, PathUri } from '../../../src/protocol/index.ts';
import { Peer } from '../../../src/rpc/index.ts';

type Answer = (params: Record<string, unknown>, server: Peer) => unknown;

/** A client of a server that answers as the script says, and knows nothing else. */
async function clientOf(script: Readonly<Record<string, Answer>>) {
  const requests: [string, unknown][] = [];
  const client = await ExecServerClient.connect(async () => {
    const [near, far] = memoryLinkPair();
    const server: Peer = new Peer(far, {
      lane: () => 'ordinary',
      request: (method, params) => {
        requests.push([method, params]);
        const answer = script[method];
        if (!answer) throw new ExecError('methodNotFound', `exec-server stub does not implement \`${method}\` yet`);
        return answer(params as Record<string, unknown>, server);
      },
      notification: () => {},
      violation: () => {},
    });
    return near;
  });
  return { client, requests };
}

/** Prints, exits and closes as soon as it is started. */
const startPrinting =
  (events: (processId: unknown) => readonly (readonly [string, object])[]): Answer =>
  ({ processId }, server) => {
    queueMicrotask(async () => {
      for (const [method, params] of events(processId)) await server.notify(method, params);
    });
    return { processId };
  };

describe('the first servers: no session, no description of the environment, native paths', () => {
  it.each([
    ['nothing is numbered', {}, {}, {}],
    ['only the close is bare', { seq: 1 }, { seq: 2 }, {}],
    ['all is numbered', { seq: 1 }, { seq: 2 }, { seq: 3 }],
  ])('take a client from start to output to exit where %s', async (_, first, second, third) => {
    const { client, requests } = await clientOf({
      initialize: () => ({}),
      'process/start': startPrinting((processId) => [
        ['process/output', { processId, stream: 'stdout', chunk: btoa('hello\n'), ...first }],
        ['process/exited', { processId, exitCode: 3, ...second }],
        ['process/closed', { processId, ...third }],
      ]),
    });
    await using process = await client.start({ argv: ['any'], cwd: '/srv/a b', processId: 'p' });

    const { stdout, exitCode, sandboxDenied } = await process.communicate();

    expect([Buffer.from(stdout).toString(), exitCode, sandboxDenied]).toEqual(['hello\n', 3, false]);
    expect(requests.find(([method]) => method === 'process/start')?.[1]).toMatchObject({ cwd: '/srv/a b' });
    expect([client.sessionId, client.environmentInfo]).toEqual([undefined, undefined]);
  });

  it('get native paths wherever a path stands, and text that looks like one as it is', async () => {
    const { client, requests } = await clientOf({
      initialize: () => ({ environmentInfo: { shell: { name: 'sh', path: '/bin/sh' }, cwd: '/srv' } }),
      'fs/canonicalize': () => ({ path: '/srv/real' }),
      'process/start': startPrinting(() => []),
    });
    const path = PathUri.fromNative('/srv/link');
    const sandbox = {
      permissions: {
        type: 'managed' as const,
        file_system: {
          type: 'restricted' as const,
          entries: [{ path: { type: 'path' as const, path }, access: 'read' as const }],
        },
        network: 'restricted' as const,
      },
      windowsSandboxLevel: 'disabled' as const,
      cwd: path,
    };

    const real = await new RemoteFileSystem(client).canonicalize(path, { sandbox });
    await client.start({ argv: ['file:///srv/link'], processId: 'p' });

    expect(real.href).toBe('file:///srv/real');
    const [, canonicalize, start] = requests.map(([, params]) => params);
    expect(canonicalize).toMatchObject({
      path: '/srv/link',
      sandbox: { cwd: '/srv/link', permissions: { file_system: { entries: [{ path: { path: '/srv/link' } }] } } },
    });
    expect(start).toMatchObject({ argv: ['file:///srv/link'], cwd: '/srv' });
  });

  it('are not taken for those that tell their directory as a URI', async () => {
    const { client, requests } = await clientOf({
      initialize: () => ({ environmentInfo: { shell: { name: 'sh', path: '/bin/sh' }, cwd: 'file:///srv' } }),
      'process/start': startPrinting(() => []),
    });

    await client.start({ argv: ['any'], processId: 'p' });

    expect(requests[1]?.[1]).toMatchObject({ cwd: 'file:///srv' });
  });
});
