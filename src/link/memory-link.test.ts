import { describe, expect, it } from 'vitest';
import { deferred } from '../base/index.ts';
import { memoryLinkPair } from './memory-link.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe('a pair of links in memory', () => {
  it('carries messages both ways, in order, also those sent before the other side is open', async () => {
    const [left, right] = memoryLinkPair();
    const atLeft: string[] = [];
    const atRight: string[] = [];
    const early = left.send('early');
    left.open((message) => void atLeft.push(text(message)));
    right.open((message) => void atRight.push(text(message)));

    await Promise.all([early, left.send(Buffer.from('bytes')), right.send('back'), left.send('\u00fc')]);

    expect({ atLeft, atRight }).toEqual({ atLeft: ['back'], atRight: ['early', 'bytes', '\u00fc'] });
  });

  it('hands over no other message while the receiver is busy, and the sender waits', async () => {
    const [left, right] = memoryLinkPair();
    const busy = deferred();
    const received: string[] = [];
    right.open((message) => {
      received.push(text(message));
      return busy.promise;
    });
    const delivered: string[] = [];
    const sent = ['a', 'b'].map((name) => left.send(name, () => void delivered.push(name)));
    await new Promise((resolve) => setImmediate(resolve));

    expect({ received, delivered }).toEqual({ received: ['a'], delivered: [] });
    busy.resolve();
    await Promise.all(sent);
    expect({ received, delivered }).toEqual({ received: ['a', 'b'], delivered: ['a', 'b'] });
  });

  it('ends for both sides at once, and messages sent before still arrive', async () => {
    const [left, right] = memoryLinkPair();
    const received: string[] = [];
    right.open((message) => void received.push(text(message)));
    const delivered: string[] = [];
    const sent = left.send('last word', () => void delivered.push('last word'));

    left.destroy();
    await Promise.all([sent, left.closed, right.closed, left.send('too late'), right.send('too late')]);

    expect({ received, delivered }).toEqual({ received: ['last word'], delivered: [] });
  });

  it('never confirms messages that were not handled before the end', async () => {
    const [left, right] = memoryLinkPair();
    const delivered: string[] = [];
    const busy = deferred();
    right.open(() => busy.promise);
    const sent = ['a', 'b'].map((name) => left.send(name, () => void delivered.push(name)));
    await new Promise((resolve) => setImmediate(resolve));

    right.close();
    busy.resolve();
    await Promise.all([...sent, left.closed, right.closed]);

    expect(delivered).toEqual([]);
  });
});
