import { describe, it } from 'vitest';
import { type FaultRig, slow, survives } from './fault-rig.ts';
import { RelayBetween } from './relay-between.ts';

/** A session outlives the connection that the fault takes away. */
const withSessions = { args: ['--detached-session-ttl-ms', '30000'] };

const throughRelay = (fault: (relay: RelayBetween) => Promise<unknown>): (() => Promise<void>) =>
  survives(withSessions, async (rig: FaultRig) => {
    await using relay = await RelayBetween.start(rig);
    await relay.carriesEverything(() => fault(relay));
    await relay.carriesEverything(async () => {});
    await rig.recovered(); // while the relay is still there: its programs have nothing left over either
  });

describe('a relay loses no byte of a session, and leaves nothing', () => {
  it(
    'when its connections are cut in the middle',
    throughRelay(async (relay) => {
      for (const proxy of relay.proxies) proxy.cut();
    }),
  );

  it(
    'when the node of the environment is killed and another takes its place',
    throughRelay((relay) => relay.replaceNode(0)),
  );

  slow(
    'when the node of the harness is killed and another takes its place',
    throughRelay((relay) => relay.replaceNode(1)),
  );

  slow(
    'when NATS is killed and comes back',
    throughRelay(async (relay) => {
      await relay.nats.kill(0);
      await relay.nats.restart(0);
    }),
  );

  slow(
    'when NATS is stopped and goes on',
    throughRelay((relay) => relay.pause({ kill: (signal) => relay.nats.signal(0, signal) })),
  );

  slow.each([0, 1])('when node %d is stopped and goes on', (n) =>
    throughRelay((relay) => relay.pause(relay.node(n)))(),
  );

  slow(
    'when the forwarder is stopped and goes on',
    throughRelay((relay) => relay.pause(relay.forward)),
  );

  slow(
    'when the harness is stopped and goes on',
    throughRelay((relay) => relay.pause(relay.harness!)),
  );
});
