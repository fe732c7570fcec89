import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';
import { untilFile } from './workspace.ts';

const ticks = (count: number) => Array.from({ length: count }, (_, index) => `tick-${index + 1}\n`).join('');

describe('the connection of the real client', () => {
  it('is resumed after a cut, with everything that was printed meanwhile', async () => {
    await using rig = await Rig.start(CodexExec);
    const print = (from: number, to: number) => `for i in $(seq ${from} ${to}); do echo tick-$i; sleep 0.01; done`;

    const session = await rig.model.open(
      `${print(1, 10)}; ${untilFile('go')}; ${print(11, 30)}; touch printed; ${untilFile('end')}; ${print(31, 40)}; exit 6`,
    );
    await session.shows(/tick-10\n/);
    rig.tap.refusing = true;
    rig.tap.cut();
    await rig.workspace.write('go', '');
    await rig.workspace.appears('printed', rig.signal);
    rig.tap.refusing = false;
    await rig.workspace.write('end', '');
    expect(await session.end()).toEqual({ exitCode: 6, output: ticks(40) });
    expect((await rig.model.exec('echo still-here')).output).toBe('still-here\n');
    await rig.finish();

    const [first, second, ...more] = rig.wire.requests('initialize');
    const sessionIds = [first!, second!].map((request) => rig.wire.answerTo(request)?.result?.sessionId);
    expect(more).toEqual([]);
    expect(sessionIds).toEqual([expect.any(String), second!.params.resumeSessionId]);
    expect(sessionIds[1]).toBe(sessionIds[0]);
  });

  it('may be a pair of pipes to a server the client starts itself', async () => {
    await using rig = await Rig.start(CodexExec, { reach: 'stdio' });

    expect(await rig.model.exec('echo over-stdio; exit 2')).toMatchObject({ exitCode: 2, output: 'over-stdio\n' });
    const cat = await rig.model.open('exec cat', { tty: true });
    await cat.type('ping ü\n');
    await cat.shows(/ping ü\r\nping ü\r\n/);
    await cat.type('\u0004');
    expect((await cat.end()).exitCode).toBe(0);
    await rig.finish();

    const [initialize] = rig.wire.requests('initialize');
    expect(rig.wire.answerTo(initialize!)?.result?.sessionId).toEqual(expect.any(String));
    expect(rig.wire.requests('process/start')).toHaveLength(2);
    expect(rig.wire.unreadable).toEqual([]);
  });

  it('needs the capability token when the server demands one', async () => {
    const token = 'interop-capability-token-0123456789abcdef';
    await using rig = await Rig.start(CodexExec, { token });

    expect((await rig.model.exec('echo let-in')).output).toBe('let-in\n');
    await rig.finish();

    expect(rig.tap.authorizations).toEqual([`Bearer ${token}`]);
    expect(await statusOf(rig.serverUrl, {})).toBe(401);
    expect(await statusOf(rig.serverUrl, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await statusOf(rig.serverUrl, { authorization: `Bearer ${token}` })).toBe(101);
  });
});

/** The HTTP status with which the server answers an upgrade request. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(url, { headers });
  const refused = once(socket, 'unexpected-response').then(([, response]) => response.statusCode as number);
  const upgraded = once(socket, 'upgrade').then(([response]) => response.statusCode as number);
  const status = await Promise.race([refused, upgraded]);
  socket.terminate();
  return status;
}
