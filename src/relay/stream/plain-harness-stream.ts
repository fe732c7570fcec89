import type { Clock, Logger } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { HarnessConnection, type Reattach } from './harness-connection.ts';
import { PlainRecords } from './plain-records.ts';
import { RelayStream } from './relay-stream.ts';

export interface PlainHarnessOptions {
  /** With it acknowledged delivery is offered; a peer that does not know it ignores the offer. */
  readonly reattach?: Reattach;
  readonly log?: Logger;
  readonly clock?: Clock;
}

/** Opens the one stream of a harness's connection on the plain relay: not encrypted, and neither side is authenticated. */
export function openPlainHarnessStream(transport: FrameTransport, options: PlainHarnessOptions = {}): Link {
  const { reattach } = options;
  const connection = new HarnessConnection(transport, {
    ...options,
    decode: { segments: true },
    receive: (frame) => stream.receive(frame),
    onFailure: ({ message }) => stream.fail(message),
  });
  const records = new PlainRecords();
  const delivery = reattach ? 'offered' : 'unacknowledged';
  const stream = connection.carry(new RelayStream({ ...connection.streamOptions, records, delivery }));
  connection.open();
  connection.send({ type: 'resume', nextSeq: 0 });
  if (reattach) connection.send({ type: 'heartbeat' });
  return stream;
}
