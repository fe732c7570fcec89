import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { decodeFrame, encodeFrame } from '../../../src/relay/index.ts';
import type { Carrier } from '../../relay/memory-transport.ts';
import { sha256 } from '../../support/digest.ts';
import { connectHarness, InstantClock, TestEnvironment } from '../../support/remote-fixture.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';
import { echo, meet } from './faults-fixture.ts';

/** The frame with the content of another. */
function forged(frame: Uint8Array, content: Uint8Array): Uint8Array {
  const { body, ...head } = decodeFrame(frame);
  const other = decodeFrame(content).body;
  if (body.type !== 'data' || other.type !== 'data') throw new Error('not data');
  return encodeFrame({ ...head, body: { ...body, payload: other.payload } });
}

/** Changes the last byte, which belongs to the seal of a record. */
function changed(frame: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(frame);
  copy[copy.length - 1]! ^= 1;
  return copy;
}

/** Lies once, when a few frames have passed. */
function once(lie: (before: Uint8Array, frame: Uint8Array) => readonly Uint8Array[]): Carrier {
  const passed: Uint8Array[] = [];
  return (frame, deliver) => {
    passed.push(Uint8Array.from(frame));
    if (passed.length === 6) return; // held for the next
    if (passed.length === 7) for (const bytes of lie(passed[5]!, passed[6]!)) deliver(bytes);
    else deliver(frame);
  };
}

const lies: Record<string, () => Carrier> = {
  'changes a record': () => once((before, frame) => [changed(before), frame]),
  'swaps the contents of two records': () => once((before, frame) => [forged(before, frame), forged(frame, before)]),
  'replays a record under another number': () => once((before, frame) => [before, forged(frame, before)]),
};

describe('a rendezvous that lies', () => {
  const ends = ['harness', 'environment'] as const;
  const cases = ends.flatMap((end) => [
    ...Object.keys(lies).map((lie) => ({ lie, end, reliable: false })),
    { lie: 'changes a record', end, reliable: true },
  ]);

  it.each(cases)('and $lie is found out by the $end, with acknowledged delivery: $reliable', async (given) => {
    await using scope = new Scope();
    const { network, connect, streams } = await meet(scope, given);
    const client = await connect();
    network.data[`to ${given.end}`] = lies[given.lie]!();
    const bytes = randomBytes(700_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toBe(2); // none of the first is believed any more
  });

  it.each(ends)('and slips in a record of another stream is found out by the %s', async (end) => {
    await using scope = new Scope();
    const { network, connect, streams } = await meet(scope, { reliable: false });
    const [client, other] = [await connect(), await connect()];
    const stolen: Uint8Array[] = [];
    network.data[`to ${end}`] = (frame, deliver) => {
      stolen.push(Uint8Array.from(frame));
      deliver(frame);
    };
    await echo(other, randomBytes(200_000));
    let slipped = 0;
    network.data[`to ${end}`] = (frame, deliver) => deliver(slipped++ === 4 ? forged(frame, stolen[4]!) : frame);
    const bytes = randomBytes(700_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toBe(3);
  });

  it('and repeats a handshake on another stream gains nothing', async () => {
    await using scope = new Scope();
    const { network, connect, environment, streams } = await meet(scope, { reliable: false });
    network.handshake['to environment'] = (frame, deliver) => {
      const { body } = decodeFrame(frame);
      deliver(frame);
      deliver(encodeFrame({ streamId: randomUUID(), body }));
    };
    const client = await connect();
    const bytes = randomBytes(100_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toBe(1);
    expect(environment.log.filter((line) => line.includes('relay.handshake_refused'))).toHaveLength(1);
  });

  it.each(ends)('and changes the handshake is found out by the %s, which opens no stream', async (end) => {
    await using scope = new Scope();
    const { network, connect, environment, streams } = await meet(scope, { reliable: false });
    network.handshake[`to ${end}`] = (frame, deliver) => deliver(changed(frame));

    const connecting = connect({ clock: new InstantClock() });
    await expect(connecting).rejects.toThrow(end === 'harness' ? /not authentic/ : /refused the stream/);
    const refused = environment.log.some((line) => line.includes('relay.handshake_refused'));
    expect([refused, streams() > 0]).toEqual([end === 'environment', end === 'harness']);
  });
});

describe('a registry that lies', () => {
  it('about the registration opens no stream', async () => {
    await using registry = await ScriptedRegistry.start();
    await using environment = new TestEnvironment(registry);
    await registry.connected();
    registry.script = (request) => {
      if (request.call !== 'connect') return undefined;
      return { body: { ...(registry.defaultAnswer(request).body as object), executor_registration_id: randomUUID() } };
    };

    await expect(connectHarness(registry, { clock: new InstantClock() })).rejects.toThrow(/refused the stream/);
    expect(environment.log.join()).toContain('relay.handshake_refused');
  });
});
