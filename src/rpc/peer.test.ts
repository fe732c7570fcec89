import { describe, expect, it } from 'vitest';
import { deferred } from '../base/index.ts';
import { memoryLinkPair } from '../link/index.ts';
import { ExecError } from '../protocol/index.ts';
import type { Link } from './link.ts';
import { EncodedResult, Peer, type PeerOptions, type Service } from './peer.ts';

interface Seen {
  readonly notifications: unknown[];
  readonly violations: string[];
}

/** A peer on one end of a link, and the plain other end. */
function peerAndWire(service: Partial<Service> = {}, options: PeerOptions = {}) {
  const [near, far] = memoryLinkPair();
  const seen: Seen = { notifications: [], violations: [] };
  const peer = new Peer(
    near,
    {
      lane: () => 'ordinary',
      request: (method, params) => ({ method, params }),
      notification: (method, params) => void seen.notifications.push([method, params]),
      violation: (kind, { message }) => void seen.violations.push(`${kind}: ${message}`),
      ...service,
    },
    options,
  );
  return { peer, seen, wire: new Wire(far) };
}

/** Raw messages, one at a time. */
class Wire {
  readonly link: Link;
  readonly #received: string[] = [];
  readonly #waiting: ((message: string) => void)[] = [];

  constructor(link: Link) {
    this.link = link;
    link.open((bytes) => {
      const text = Buffer.from(bytes).toString();
      const next = this.#waiting.shift();
      if (next) next(text);
      else this.#received.push(text);
    });
  }

  next(): Promise<string> {
    const received = this.#received.shift();
    return received === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(received);
  }

  async exchange(message: string): Promise<string> {
    void this.link.send(message);
    return this.next();
  }
}

describe('a request', () => {
  it('is answered under its id, as it was written', async () => {
    const { wire } = peerAndWire();

    expect(await wire.exchange('{"id":9223372036854775807,"method":"m","params":{"a":1}}')).toBe(
      '{"id":9223372036854775807,"result":{"method":"m","params":{"a":1}}}',
    );
    expect(await wire.exchange('{"id":"a\\"b","method":"m","params":[]}')).toBe(
      '{"id":"a\\"b","result":{"method":"m","params":[]}}',
    );
  });

  it('is answered with what the service throws, at once or later', async () => {
    const { wire } = peerAndWire({
      request: (method) => {
        const error = new ExecError('notFound', `no ${method}`);
        if (method === 'later') return Promise.reject(error);
        throw error;
      },
    });

    expect(await wire.exchange('{"id":1,"method":"now"}')).toBe('{"id":1,"error":{"code":-32004,"message":"no now"}}');
    expect(await wire.exchange('{"id":2,"method":"later"}')).toBe(
      '{"id":2,"error":{"code":-32004,"message":"no later"}}',
    );
  });

  it('may be answered with a result that is JSON text already', async () => {
    const delivered = deferred();
    const parts = ['{"chunk":"', 'QUFB', '"}'].map((part) => Buffer.from(part));
    const { wire } = peerAndWire({ request: () => new EncodedResult(parts, { onDelivered: delivered.resolve }) });

    expect(await wire.exchange('{"id":1,"method":"m"}')).toBe('{"id":1,"result":{"chunk":"QUFB"}}');
    await delivered.promise;
  });

  it('whose result cannot be written is answered with an error, now or later', async () => {
    const { wire } = peerAndWire({
      request: (method) => {
        const unwritable = { value: 1n };
        return method === 'later' ? Promise.resolve(unwritable) : unwritable;
      },
    });

    expect(await wire.exchange('{"id":1,"method":"now"}')).toContain('{"id":1,"error":{"code":-32603,');
    expect(await wire.exchange('{"id":2,"method":"later"}')).toContain('{"id":2,"error":{"code":-32603,');
  });

  it('without a result is answered with null', async () => {
    const { wire } = peerAndWire({ request: () => undefined });

    expect(await wire.exchange('{"id":1,"method":"m"}')).toBe('{"id":1,"result":null}');
  });

  it('does not wait for an earlier one, unless only one may run at a time', async () => {
    const service = () => {
      const slow = deferred<string>();
      return { slow, request: (method: string) => (method === 'slow' ? slow.promise : method) };
    };
    const free = service();
    const strict = service();
    const { wire } = peerAndWire(free);
    const { wire: strictWire } = peerAndWire(strict, { concurrentRequests: 1 });

    for (const { link } of [wire, strictWire]) {
      void link.send('{"id":1,"method":"slow"}');
      void link.send('{"id":2,"method":"fast"}');
    }
    const first = await wire.next();
    free.slow.resolve('slow');
    strict.slow.resolve('slow');

    expect([first, await wire.next()]).toEqual(['{"id":2,"result":"fast"}', '{"id":1,"result":"slow"}']);
    expect([await strictWire.next(), await strictWire.next()]).toEqual([
      '{"id":1,"result":"slow"}',
      '{"id":2,"result":"fast"}',
    ]);
  });

  it('has its signal aborted when the connection is lost', async () => {
    const aborted = deferred<boolean>();
    const { wire } = peerAndWire({
      request: (_method, _params, { ended }) => {
        ended.addEventListener('abort', () => aborted.resolve(ended.aborted));
        wire.link.destroy();
        return aborted.promise;
      },
    });
    void wire.link.send('{"id":1,"method":"m"}');

    expect(await aborted.promise).toBe(true);
  });
});

describe('text that is not a message', () => {
  it('is reported, and the connection stays open', async () => {
    const { wire, seen } = peerAndWire();
    void wire.link.send('{oops');

    expect(await wire.exchange('{"id":1,"method":"m"}')).toBe('{"id":1,"result":{"method":"m"}}');
    expect(seen.violations).toHaveLength(1);
    expect(seen.violations[0]).toMatch(/^malformed: failed to parse JSON-RPC message from exec-server /);
  });
});

describe('a notification', () => {
  it('reaches the service', async () => {
    const { wire, seen } = peerAndWire();
    await wire.link.send('{"method":"initialized","params":{}}');

    expect(seen).toEqual({ notifications: [['initialized', {}]], violations: [] });
  });

  it('that the service refuses ends the connection, after a message sent by `violation`', async () => {
    const { peer, wire, seen } = peerAndWire({
      notification: () => {
        throw new Error('out of place');
      },
      violation: (kind, { message }) => {
        seen.violations.push(`${kind}: ${message}`);
        void peer.link.send('last word');
      },
    });
    void wire.link.send('{"method":"m"}');

    expect(await wire.next()).toBe('last word');
    await wire.link.closed;
    expect(seen.violations).toEqual(['notification: out of place']);
  });

  it('that fails later ends the connection too', async () => {
    const { wire, seen } = peerAndWire({ notification: () => Promise.reject(new Error('too late')) });
    void wire.link.send('{"method":"m"}');

    await wire.link.closed;
    expect(seen.violations).toEqual(['notification: too late']);
  });

  it('delays later messages while the service is busy with it', async () => {
    const busy = deferred();
    const { wire, seen } = peerAndWire({ notification: () => busy.promise });
    void wire.link.send('{"method":"m"}');
    const answer = wire.exchange('{"id":1,"method":"later"}');
    let answered = false;
    void answer.then(() => {
      answered = true;
    });
    await new Promise((resolve) => setImmediate(resolve));

    expect(answered).toBe(false);
    busy.resolve();
    expect(await answer).toBe('{"id":1,"result":{"method":"later"}}');
    expect(seen.violations).toEqual([]);
  });

  it('is sent with its parameters, or null', async () => {
    const { peer, wire } = peerAndWire();
    void peer.notify('m', { a: 1 });
    void peer.notify('m', undefined);

    expect([await wire.next(), await wire.next()]).toEqual([
      '{"method":"m","params":{"a":1}}',
      '{"method":"m","params":null}',
    ]);
  });
});

describe('a call', () => {
  it('gets the answer with its id', async () => {
    const { peer, wire } = peerAndWire();
    const calls = [peer.call('a', { x: 1 }), peer.call('b', undefined), peer.call('c', [])];

    expect([await wire.next(), await wire.next(), await wire.next()]).toEqual([
      '{"id":1,"method":"a","params":{"x":1}}',
      '{"id":2,"method":"b","params":null}',
      '{"id":3,"method":"c","params":[]}',
    ]);
    void wire.link.send('{"id":2,"error":{"code":-32601,"message":"unknown"}}');
    void wire.link.send('{"id":3,"result":null}');
    void wire.link.send('{"id":1,"result":{"y":2}}');

    expect(await Promise.allSettled(calls)).toEqual([
      { status: 'fulfilled', value: { y: 2 } },
      { status: 'rejected', reason: new ExecError('methodNotFound', 'unknown') },
      { status: 'fulfilled', value: null },
    ]);
  });

  it('fails when the connection is lost, and afterwards', async () => {
    const { peer, wire } = peerAndWire();
    const early = peer.call('m', {});
    wire.link.destroy();

    await expect(early).rejects.toMatchObject({ name: 'ConnectionLost', message: 'the connection was lost' });
    await expect(peer.call('m', {})).rejects.toMatchObject({ name: 'ConnectionLost' });
  });

  it.each(['{"id":1,"result":1}', '{"id":"1","result":1}', '{"id":-1,"error":{"code":-32600,"message":"no"}}'])(
    'that was never made is not answered: %s ends the connection',
    async (answer) => {
      const { wire, seen } = peerAndWire();
      void wire.link.send(answer);

      await wire.link.closed;
      expect(seen.violations).toHaveLength(1);
      expect(seen.violations[0]).toMatch(/^answer: unexpected answer to request /);
    },
  );
});

describe('an internal error', () => {
  it.each([
    ['while malformed text is reported', { violation: () => fail() }, 'no message'],
    ['while an answer is written', { request: () => ({ toJSON: () => fail() }) }, '{"id":1,"method":"m"}'],
    ['while a lane is chosen', { lane: () => fail() }, '{"id":1,"method":"m"}'],
  ])('%s ends the connection of the message, or is its answer', async (_, service, message) => {
    const faults: string[] = [];
    const { peer, wire } = peerAndWire({ ...service, fault: (error) => void faults.push(String(error)) });

    void wire.link.send(message);

    const answered = await Promise.race([wire.next(), peer.link.closed]);
    if (answered === undefined) expect(faults).toEqual(['Error: a slip']);
    else expect(answered).toContain('a slip'); // the error was sent as the answer
  });
});

function fail(): never {
  throw new Error('a slip');
}
