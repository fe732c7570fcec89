import type { Writable } from 'node:stream';
import * as ws from 'ws';

/** What `ws` reads frames with: bytes go in, `message` events come out. */
export function frameReceiver(side: { readonly isServer: boolean }): Writable {
  const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable };
  return new Receiver(side);
}
