import { describe, expect, it } from 'vitest';
import { Delivery } from './delivery.ts';

function observed() {
  const probes: string[] = [];
  const delivered: string[] = [];
  const delivery = new Delivery((text) => void probes.push(text));
  const send = (name: string, bytes = 1) => delivery.sent(bytes, () => void delivered.push(name));
  const answer = (probe: number) => delivery.answered(probes[probe - 1]!);
  return { delivery, probes, delivered, send, answer };
}

describe('delivery', () => {
  it('is asked about when a probe is requested and a message is unconfirmed', () => {
    const { delivery, probes, send } = observed();

    delivery.probe();
    send('a');
    delivery.probe();
    delivery.probe();

    expect(probes).toHaveLength(1);
  });

  it('is asked about every 128 KiB', () => {
    const { probes, send } = observed();

    for (let chunk = 0; chunk < 8; chunk++) send('chunk', 65_536);

    expect(probes).toHaveLength(4);
  });

  it('is confirmed in order for everything sent before the probe, once', () => {
    const { delivery, delivered, send, answer } = observed();
    send('a');
    send('b');
    delivery.probe();
    send('c');

    answer(1);
    answer(1);

    expect(delivered).toEqual(['a', 'b']);
  });

  it('is confirmed for all earlier probes by the answer to a later one', () => {
    const { delivery, delivered, send, answer } = observed();
    for (const name of ['a', 'b', 'c']) {
      send(name);
      delivery.probe();
    }

    answer(2);

    expect(delivered).toEqual(['a', 'b']);
  });

  it('cannot be confirmed by a peer that has not received the probe', () => {
    const { delivery, delivered, send, answer } = observed();
    send('a');
    delivery.probe();
    answer(1);
    delivered.length = 0;
    send('b');
    delivery.probe();

    for (const guess of ['probe 2', '2', '']) delivery.answered(guess);
    answer(1); // a second time

    expect(delivered).toEqual([]);
  });

  it('is not watched for messages whose delivery is not asked about', () => {
    const { delivery, probes } = observed();

    delivery.sent(1_000_000, undefined);
    delivery.probe();

    expect(probes).toEqual([]);
  });

  it('is asked about again by every keep-alive, since a peer may answer only the newest of several pings', () => {
    const { delivery, probes, delivered, send, answer } = observed();
    send('a');
    delivery.probe();
    send('b');

    delivery.probeNow();
    delivery.probeNow();
    answer(2);

    expect({ probes: probes.length, delivered }).toEqual({ probes: 3, delivered: ['a', 'b'] });
  });
});
