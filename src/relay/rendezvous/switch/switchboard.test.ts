import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SocketPeer, SwitchCluster } from '../../../../test/support/switch-cluster.ts';
import type { RelayBody } from '../../index.ts';

const resume: RelayBody = { type: 'resume', nextSeq: 0 };
const heartbeat: RelayBody = { type: 'heartbeat' };
const isFrame = (payload: Uint8Array): boolean => payload[0] !== 0x7b;

async function pair(cluster: SwitchCluster, options: { reliable?: boolean } = {}) {
  const [one, two] = [await cluster.node('one'), await cluster.node('two')];
  const environment = await cluster.environment(one);
  const harness = await cluster.harness(two);
  harness.say(resume);
  if (options.reliable) {
    harness.say(heartbeat);
    environment.say(heartbeat);
  }
  return { one, two, environment: environment.clear(), harness: harness.clear() };
}

describe('frames lost between nodes', () => {
  it('are noticed by the frame that follows', async () => {
    const cluster = new SwitchCluster();
    const { environment, harness } = await pair(cluster);
    environment.data(0);
    cluster.loses = isFrame;
    environment.data(1);
    cluster.loses = () => false;
    environment.data(2);

    expect([harness.received, environment.received]).toEqual([['0', 'frame_lost'], ['frame_lost']]);
  });

  it.each(['environment', 'harness'] as const)('of the %s are noticed although nothing follows', async (role) => {
    const cluster = new SwitchCluster();
    const { environment, harness } = await pair(cluster);
    cluster.loses = isFrame;
    (role === 'environment' ? environment : harness).data(0);
    cluster.loses = () => false;
    expect([environment.received, harness.received]).toEqual([[], []]);

    cluster.pass(5000);

    expect([environment.received, harness.received]).toEqual([['frame_lost'], ['frame_lost']]);
  });

  it('do not disturb reliable endpoints, nor do they use up their window', async () => {
    const cluster = new SwitchCluster({ windowBytes: 1000, creditBytes: 1 });
    const { environment, harness } = await pair(cluster, { reliable: true });
    cluster.loses = isFrame;
    for (let seq = 0; seq < 4; seq++) environment.data(seq, 500);
    cluster.loses = () => false;
    environment.data(4, 500);
    cluster.pass(5000);
    environment.data(5, 500);

    // Two were lost on their way. The others waited, and were sent when the loss was known.
    expect([harness.received, environment.received]).toEqual([['2', '3', '4', '5'], []]);
  });

  it('never leave a stream open at one end and lost at the other', async () => {
    const step = fc.record({ by: fc.constantFrom('environment', 'harness'), lost: fc.boolean(), wait: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, control) => {
        const cluster = new SwitchCluster();
        const { environment, harness } = await pair(cluster);
        const sent = { environment: 0, harness: 0 };
        for (const { by, lost, wait } of steps) {
          cluster.loses = (payload) => lost && (control || isFrame(payload));
          if (by === 'environment') environment.data(sent.environment++);
          else harness.data(sent.harness++);
          if (wait) cluster.pass(2000);
        }
        cluster.loses = () => false;
        cluster.pass(20_000);

        const isReset = (text: string | undefined): boolean => text !== undefined && !/^\d+$/.test(text);
        for (const [peer, expected] of [
          [harness, sent.environment],
          [environment, sent.harness],
        ] as const) {
          const complete = peer.received.join() === Array.from({ length: expected }, (_, seq) => seq).join();
          expect(complete || peer.received.some(isReset)).toBe(true);
        }
        expect(environment.received.some(isReset)).toBe(harness.received.some(isReset));
      }),
      { numRuns: 200 },
    );
  });
});

describe('an interruption of the bus', () => {
  it('makes nodes compare what was sent and received sooner', async () => {
    const cluster = new SwitchCluster();
    const { one, environment, harness } = await pair(cluster);
    cluster.loses = isFrame;
    environment.data(0);
    cluster.loses = () => false;
    one.interrupted();
    cluster.pass(1000);

    expect([environment.received, harness.received]).toEqual([['frame_lost'], ['frame_lost']]);
  });
});

describe('taking an environment', () => {
  it('leaves nothing behind when another node was faster, or when the directory fails', async () => {
    const cluster = new SwitchCluster();
    const board = await cluster.node('one');
    cluster.beforeUpdate = (change, current) => void change(current); // the first result is discarded, as when another node was faster
    await cluster.environment(board);
    expect(board.socketCount).toBe(1);

    cluster.beforeUpdate = (change, current) => {
      change(current);
      throw new Error('unavailable');
    };
    await expect(board.takeEnvironment('env', 'r')).rejects.toThrow('unavailable');
    expect(board.socketCount).toBe(1);
  });

  it('closes a socket that opens when another has taken its place', async () => {
    const cluster = new SwitchCluster();
    const board = await cluster.node('one');
    await cluster.environment(board);
    const first = await board.takeEnvironment('env', 'r');
    const second = await cluster.environment(board);

    expect([new SocketPeer(first!).closed, second.closed]).toEqual([4409, undefined]);
  });
});

describe('the socket of a harness', () => {
  it('is closed when it opens after its registration was replaced', async () => {
    const cluster = new SwitchCluster();
    const board = await cluster.node('one');
    await cluster.environment(board);
    const grant = { role: 'harness', environmentId: 'env', registrationId: 'r', connectionId: 'c', key: 'k' } as const;
    const socket = await board.takeHarness(grant);
    await cluster.register('r2');

    expect([new SocketPeer(socket!).closed, board.socketCount]).toEqual([4409, 0]);
  });
});

describe('a node that dies silently', () => {
  it('leaves no places taken by connections that had no streams', async () => {
    const cluster = new SwitchCluster({ streamsPerEnvironment: 1 });
    const { environment, one, two } = await pair(cluster);
    for (let n = 1; n < 4; n++) await cluster.harness(two, `idle ${n}`, `key ${n}`);
    cluster.kill('two');

    const another = await cluster.harness(one, 'another', 'another key');
    another.say(resume, 's2');

    expect([another.received, environment.received]).toEqual([['stream_limit'], []]);
  });

  it('is noticed by the next frame', async () => {
    const cluster = new SwitchCluster();
    const { harness } = await pair(cluster);
    cluster.kill('one');
    harness.data(0);

    expect(harness.received).toEqual(['environment_offline']);
  });

  it('is noticed by idle ends within a pulse', async () => {
    const cluster = new SwitchCluster();
    const { environment } = await pair(cluster);
    cluster.kill('two');
    cluster.pass(5000);

    expect(environment.received).toEqual(['harness_disconnected']);
  });

  it('is noticed when it is only cut off', async () => {
    const cluster = new SwitchCluster();
    const { environment, harness } = await pair(cluster);
    cluster.loses = () => true;
    cluster.pass(14_000);
    expect([environment.received, harness.received]).toEqual([[], []]);
    cluster.pass(2000);

    expect([environment.received, harness.received]).toEqual([['harness_disconnected'], ['environment_offline']]);
  });

  it('is asked for when its harness comes back elsewhere, before the new stream begins', async () => {
    const cluster = new SwitchCluster();
    const { environment, one } = await pair(cluster);
    cluster.kill('two');

    const back = await cluster.harness(one, 'c2');
    back.say(resume, 's2');

    expect(environment.received).toEqual(['harness_disconnected', 'resume']);
  });

  it('is not taken for dead when it answers, or when the key is another', async () => {
    const cluster = new SwitchCluster();
    const { environment, one } = await pair(cluster);
    const second = await cluster.harness(one, 'c2');
    second.say(resume, 's2');
    cluster.kill('two');
    const third = await cluster.harness(one, 'c3', 'another key');
    third.say(resume, 's3');

    expect(environment.received).toEqual(['resume', 'resume']);
  });
});

describe('between nodes', () => {
  it('only a window of a stream travels until it is written at the other end', async () => {
    const cluster = new SwitchCluster({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness } = await pair(cluster);
    harness.holding = true;
    for (let seq = 0; seq < 10; seq++) environment.data(seq, 600);
    expect(harness.received).toEqual(['0', '1']);

    for (const written of harness.unwritten.splice(0)) written();

    expect(harness.received).toEqual(['0', '1', '2', '3']);
    harness.holding = false;
    for (const written of harness.unwritten.splice(0)) written();
    expect(harness.received).toHaveLength(10);
  });

  it('a harness is not read while its environment takes nothing, and others are', async () => {
    const cluster = new SwitchCluster({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness, two } = await pair(cluster);
    const other = await cluster.harness(two, 'c2', 'k2');
    other.say(resume, 's2');
    environment.clear().holding = true;
    for (let seq = 0; seq < 3; seq++) harness.data(seq, 600);
    expect([harness.paused, other.paused, environment.received]).toEqual([true, false, ['0', '1']]);

    environment.holding = false;
    for (const written of environment.unwritten.splice(0)) written();

    expect([harness.paused, environment.received]).toEqual([false, ['0', '1', '2']]);
  });

  it('a reliable stream is taken over by a newer connection of the same harness', async () => {
    const cluster = new SwitchCluster();
    const { environment, harness, one } = await pair(cluster, { reliable: true });
    const newer = await cluster.harness(one, 'c2');
    newer.say({ type: 'resume', nextSeq: 4 });
    environment.data(9);

    expect([harness.received, newer.received, environment.received]).toEqual([['stream_in_use'], ['9'], ['resume']]);
  });

  it('a harness that comes back before it has heard of a reset begins its stream anew', async () => {
    const cluster = new SwitchCluster({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness, one } = await pair(cluster, { reliable: true });
    harness.holding = true;
    for (let seq = 0; seq < 3; seq++) environment.data(seq, 600);
    environment.say({ type: 'reset', reason: 'done' });
    const newer = await cluster.harness(one, 'c2');
    newer.say({ type: 'resume', nextSeq: 2 });
    environment.say({ type: 'reset', reason: 'unknown' });

    expect([harness.received, newer.received, environment.received]).toEqual([
      ['0', '1', 'stream_in_use'],
      ['unknown'],
      ['resume'],
    ]);
  });

  it('a link that is forgotten at one end is opened again', async () => {
    const cluster = new SwitchCluster();
    const { environment, harness } = await pair(cluster, { reliable: true });
    environment.socket.harnessLost('c');
    harness.data(0);
    await Promise.resolve();
    harness.data(1);

    expect([environment.received, harness.received]).toEqual([['1'], []]);
  });
});
