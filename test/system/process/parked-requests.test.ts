import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { startServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';

describe('a connection with 5000 requests that wait for something to happen', () => {
  it.each([
    ['process/wait', {}],
    ['process/read', { waitMs: 600_000 }],
  ])('answers pings, terminates and serves others (%s)', async (method, params) => {
    await using server = await startServer();
    await using client = await connect(server.url);
    await client.start({ processId: 'p', argv: ['sleep', '900'] });
    const parked = Array.from({ length: 5000 }, () => client.call(method, { processId: 'p', ...params }));

    client.socket.ping('are you there?');
    expect(String((await once(client.socket, 'pong'))[0])).toBe('are you there?');
    const other = await client.start({ argv: ['echo', 'served'] });
    await other.closed();
    expect(await client.call('process/terminate', { processId: 'p' })).toEqual({ running: true });

    const answers = await Promise.all(parked);
    expect(answers).toHaveLength(5000);
    expect(answers.at(-1)).toMatchObject({ exited: true, exitCode: 137 });
  });

  it('is found to be silent when its client is gone', async () => {
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    await using client = await connectBare(proxy.url);
    const resumeSessionId = await client.initialize();
    await client.start({ processId: 'p', argv: ['sleep', '900'] });
    for (let n = 0; n < 5000; n++) void client.call('process/wait', { processId: 'p' });
    await client.call('environment/info');
    await using curious = await connectBare(server.url);
    await expect(curious.initialize({ resumeSessionId })).rejects.toMatchObject({ code: -32010 }); // it answers
    proxy.silence();

    expect(await curious.initialize({ resumeSessionId })).toBe(resumeSessionId);
  });
});
