import { describe, expect, it } from 'vitest';
import { Delivery } from './delivery.ts';

function observed() {
  const probes: number[] = [];
  const delivered: string[] = [];
  const delivery = new Delivery((number) => void probes.push(number));
  const send = (name: string, bytes = 1) => delivery.sent(bytes, () => void delivered.push(name));
  return { delivery, probes, delivered, send };
}

describe('delivery', () => {
  it('is asked about when a probe is wanted and something is unconfirmed', () => {
    const { delivery, probes, send } = observed();

    delivery.probe();
    send('a');
    delivery.probe();
    delivery.probe();

    expect(probes).toEqual([1]);
  });

  it('is asked about every 128 KiB', () => {
    const { probes, send } = observed();

    for (let chunk = 0; chunk < 8; chunk++) send('chunk', 65_536);

    expect(probes).toEqual([1, 2, 3, 4]);
  });

  it('is confirmed in order for everything sent before the probe, once', () => {
    const { delivery, delivered, send } = observed();
    send('a');
    send('b');
    delivery.probe();
    send('c');

    delivery.confirmed(1);
    delivery.confirmed(1);

    expect(delivered).toEqual(['a', 'b']);
  });

  it('is confirmed for all earlier probes by the answer to a later one', () => {
    const { delivery, delivered, send } = observed();
    for (const name of ['a', 'b', 'c']) {
      send(name);
      delivery.probe();
    }

    delivery.confirmed(2);

    expect(delivered).toEqual(['a', 'b']);
  });

  it('cannot be confirmed by a peer that was not asked', () => {
    const { delivery, delivered, send } = observed();
    send('a');

    delivery.confirmed(1);
    delivery.confirmed(7);

    expect(delivered).toEqual([]);
  });

  it('is not watched for messages nobody asks about', () => {
    const { delivery, probes } = observed();

    delivery.sent(1_000_000, undefined);
    delivery.probe();

    expect(probes).toEqual([]);
  });

  it('is asked about again by every keep-alive, since a peer may answer only the newest of several pings', () => {
    const { delivery, probes, delivered, send } = observed();
    send('a');
    delivery.probe();
    send('b');

    delivery.keepAlive();
    delivery.keepAlive();
    delivery.confirmed(2);

    expect({ probes, delivered }).toEqual({ probes: [1, 2, 3], delivered: ['a', 'b'] });
  });
});
