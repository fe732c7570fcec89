import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SocketPeer, SwitchWorld } from '../../../../test/support/switch-world.ts';
import type { RelayBody } from '../../index.ts';

const resume: RelayBody = { type: 'resume', nextSeq: 0 };
const heartbeat: RelayBody = { type: 'heartbeat' };
const isFrame = (payload: Uint8Array): boolean => payload[0] !== 0x7b;

async function pair(world: SwitchWorld, options: { reliable?: boolean } = {}) {
  const [one, two] = [await world.node('one'), await world.node('two')];
  const environment = await world.environment(one);
  const harness = await world.harness(two);
  harness.say(resume);
  if (options.reliable) {
    harness.say(heartbeat);
    environment.say(heartbeat);
  }
  return { one, two, environment: environment.clear(), harness: harness.clear() };
}

describe('frames lost between nodes', () => {
  it('are noticed by the frame that follows', async () => {
    const world = new SwitchWorld();
    const { environment, harness } = await pair(world);
    environment.data(0);
    world.loses = isFrame;
    environment.data(1);
    world.loses = () => false;
    environment.data(2);

    expect([harness.received, environment.received]).toEqual([['0', 'frame_lost'], ['frame_lost']]);
  });

  it.each(['environment', 'harness'] as const)('of the %s are noticed although nothing follows', async (role) => {
    const world = new SwitchWorld();
    const { environment, harness } = await pair(world);
    world.loses = isFrame;
    (role === 'environment' ? environment : harness).data(0);
    world.loses = () => false;
    expect([environment.received, harness.received]).toEqual([[], []]);

    world.pass(5000);

    expect([environment.received, harness.received]).toEqual([['frame_lost'], ['frame_lost']]);
  });

  it('do not disturb reliable endpoints, nor do they use up their window', async () => {
    const world = new SwitchWorld({ windowBytes: 1000, creditBytes: 1 });
    const { environment, harness } = await pair(world, { reliable: true });
    world.loses = isFrame;
    for (let seq = 0; seq < 4; seq++) environment.data(seq, 500);
    world.loses = () => false;
    environment.data(4, 500);
    world.pass(5000);
    environment.data(5, 500);

    // Two were lost on their way. The others waited, and were sent when the loss was known.
    expect([harness.received, environment.received]).toEqual([['2', '3', '4', '5'], []]);
  });

  it('never leave a stream open at one end and lost at the other', async () => {
    const step = fc.record({ by: fc.constantFrom('environment', 'harness'), lost: fc.boolean(), wait: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, control) => {
        const world = new SwitchWorld();
        const { environment, harness } = await pair(world);
        const sent = { environment: 0, harness: 0 };
        for (const { by, lost, wait } of steps) {
          world.loses = (payload) => lost && (control || isFrame(payload));
          if (by === 'environment') environment.data(sent.environment++);
          else harness.data(sent.harness++);
          if (wait) world.pass(2000);
        }
        world.loses = () => false;
        world.pass(20_000);

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
    const world = new SwitchWorld();
    const { one, environment, harness } = await pair(world);
    world.loses = isFrame;
    environment.data(0);
    world.loses = () => false;
    one.interrupted();
    world.pass(1000);

    expect([environment.received, harness.received]).toEqual([['frame_lost'], ['frame_lost']]);
  });
});

describe('taking an environment', () => {
  it('leaves nothing behind when another node was faster, or when the directory fails', async () => {
    const world = new SwitchWorld();
    const board = await world.node('one');
    world.beforeUpdate = (change, current) => void change(current); // in vain: it has to be tried again
    await world.environment(board);
    expect(board.socketCount).toBe(1);

    world.beforeUpdate = (change, current) => {
      change(current);
      throw new Error('unavailable');
    };
    await expect(board.takeEnvironment('env', 'r')).rejects.toThrow('unavailable');
    expect(board.socketCount).toBe(1);
  });

  it('closes a socket that opens when another has taken its place', async () => {
    const world = new SwitchWorld();
    const board = await world.node('one');
    await world.environment(board);
    const first = await board.takeEnvironment('env', 'r');
    const second = await world.environment(board);

    expect([new SocketPeer(first!).closed, second.closed]).toEqual([4409, undefined]);
  });
});

describe('the socket of a harness', () => {
  it('is closed when it opens after its registration was replaced', async () => {
    const world = new SwitchWorld();
    const board = await world.node('one');
    await world.environment(board);
    const grant = { role: 'harness', environmentId: 'env', registrationId: 'r', connectionId: 'c', key: 'k' } as const;
    const socket = await board.takeHarness(grant);
    await world.register('r2');

    expect([new SocketPeer(socket!).closed, board.socketCount]).toEqual([4409, 0]);
  });
});

describe('a node that dies silently', () => {
  it('leaves no places taken by connections that had no streams', async () => {
    const world = new SwitchWorld({ streamsPerEnvironment: 1 });
    const { environment, one, two } = await pair(world);
    for (let n = 1; n < 4; n++) await world.harness(two, `idle ${n}`, `key ${n}`);
    world.kill('two');

    const another = await world.harness(one, 'another', 'another key');
    another.say(resume, 's2');

    expect([another.received, environment.received]).toEqual([['stream_limit'], []]);
  });

  it('is noticed by the next frame', async () => {
    const world = new SwitchWorld();
    const { harness } = await pair(world);
    world.kill('one');
    harness.data(0);

    expect(harness.received).toEqual(['environment_offline']);
  });

  it('is noticed by idle ends within a pulse', async () => {
    const world = new SwitchWorld();
    const { environment } = await pair(world);
    world.kill('two');
    world.pass(5000);

    expect(environment.received).toEqual(['harness_disconnected']);
  });

  it('is noticed when it is only cut off', async () => {
    const world = new SwitchWorld();
    const { environment, harness } = await pair(world);
    world.loses = () => true;
    world.pass(14_000);
    expect([environment.received, harness.received]).toEqual([[], []]);
    world.pass(2000);

    expect([environment.received, harness.received]).toEqual([['harness_disconnected'], ['environment_offline']]);
  });

  it('is asked for when its harness comes back elsewhere, before the new stream begins', async () => {
    const world = new SwitchWorld();
    const { environment, one } = await pair(world);
    world.kill('two');

    const back = await world.harness(one, 'c2');
    back.say(resume, 's2');

    expect(environment.received).toEqual(['harness_disconnected', 'resume']);
  });

  it('is not taken for dead when it answers, or when the key is another', async () => {
    const world = new SwitchWorld();
    const { environment, one } = await pair(world);
    const second = await world.harness(one, 'c2');
    second.say(resume, 's2');
    world.kill('two');
    const third = await world.harness(one, 'c3', 'another key');
    third.say(resume, 's3');

    expect(environment.received).toEqual(['resume', 'resume']);
  });
});

describe('between nodes', () => {
  it('only a window of a stream travels until it is written at the other end', async () => {
    const world = new SwitchWorld({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness } = await pair(world);
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
    const world = new SwitchWorld({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness, two } = await pair(world);
    const other = await world.harness(two, 'c2', 'k2');
    other.say(resume, 's2');
    environment.clear().holding = true;
    for (let seq = 0; seq < 3; seq++) harness.data(seq, 600);
    expect([harness.paused, other.paused, environment.received]).toEqual([true, false, ['0', '1']]);

    environment.holding = false;
    for (const written of environment.unwritten.splice(0)) written();

    expect([harness.paused, environment.received]).toEqual([false, ['0', '1', '2']]);
  });

  it('a reliable stream is taken over by a newer connection of the same harness', async () => {
    const world = new SwitchWorld();
    const { environment, harness, one } = await pair(world, { reliable: true });
    const newer = await world.harness(one, 'c2');
    newer.say({ type: 'resume', nextSeq: 4 });
    environment.data(9);

    expect([harness.received, newer.received, environment.received]).toEqual([['stream_in_use'], ['9'], ['resume']]);
  });

  it('a harness that comes back before it has heard of a reset begins its stream anew', async () => {
    const world = new SwitchWorld({ windowBytes: 1000, creditBytes: 400 });
    const { environment, harness, one } = await pair(world, { reliable: true });
    harness.holding = true;
    for (let seq = 0; seq < 3; seq++) environment.data(seq, 600);
    environment.say({ type: 'reset', reason: 'done' });
    const newer = await world.harness(one, 'c2');
    newer.say({ type: 'resume', nextSeq: 2 });
    environment.say({ type: 'reset', reason: 'unknown' });

    expect([harness.received, newer.received, environment.received]).toEqual([
      ['0', '1', 'stream_in_use'],
      ['unknown'],
      ['resume'],
    ]);
  });

  it('a link that is forgotten at one end is opened again', async () => {
    const world = new SwitchWorld();
    const { environment, harness } = await pair(world, { reliable: true });
    environment.socket.harnessLost('c');
    harness.data(0);
    await Promise.resolve();
    harness.data(1);

    expect([environment.received, harness.received]).toEqual([['1'], []]);
  });
});
