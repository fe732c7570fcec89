import { natsLimits } from '../limits.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';

/** A message begins with 4 bytes that name the secret, 16 that authenticate, and its number in 8. */
const KID_BYTES = 4;
const MAC_BYTES = 16;
const HEAD_BYTES = KID_BYTES + MAC_BYTES + 8;
const PURPOSE = 'bus';

/** The subjects of receiver and sender. */
interface Route {
  readonly to: string;
  readonly from: string;
}

/** Seals messages between nodes with the cluster's secret. Each is accepted once, and only from this sender at this receiver. */
export class BusSeal {
  readonly #keys: SigningKeys;
  /** The number of the last message of each node. A node has a new name after every start. */
  readonly #last = new Map<string, bigint>();
  #sent = 0n;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  seal(route: Route, payload: Uint8Array): Uint8Array {
    const message = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
    message.writeBigUInt64BE(++this.#sent, KID_BYTES + MAC_BYTES);
    message.set(payload, HEAD_BYTES);
    const { kid } = this.#keys;
    message.set(this.#mac(kid, route, message)!, KID_BYTES);
    message.write(kid, 0, 'hex');
    return message;
  }

  /** Undefined for a message that no node sent on this route, and for a repeated one. */
  open(route: Route, sender: string, message: Uint8Array): Uint8Array | undefined {
    if (message.length < HEAD_BYTES) return undefined;
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
    const expected = this.#mac(bytes.toString('hex', 0, KID_BYTES), route, bytes);
    if (!expected || !this.#keys.equal(expected, bytes.subarray(KID_BYTES, KID_BYTES + MAC_BYTES))) return undefined;
    const number = bytes.readBigUInt64BE(KID_BYTES + MAC_BYTES);
    if (number <= (this.#last.get(sender) ?? 0n)) return undefined;
    this.#remember(sender, number);
    return bytes.subarray(HEAD_BYTES);
  }

  #mac(kid: string, { to, from }: Route, message: Buffer): Uint8Array | undefined {
    const head = `${to}\0${from}\0`;
    return this.#keys.mac(PURPOSE, kid, head, message.subarray(KID_BYTES + MAC_BYTES))?.subarray(0, MAC_BYTES);
  }

  /** Forgets the node whose last message is oldest. */
  #remember(sender: string, number: bigint): void {
    this.#last.delete(sender);
    this.#last.set(sender, number);
    if (this.#last.size <= natsLimits.rememberedNodes) return;
    const [oldest] = this.#last.keys();
    this.#last.delete(oldest!);
  }
}
