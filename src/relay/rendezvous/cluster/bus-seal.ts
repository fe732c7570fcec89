import type { SigningKeys } from '../trust/signing-keys.ts';

/** 4 bytes name the secret, 16 authenticate, 8 are the number of the message. */
const KID_BYTES = 4;
const MAC_BYTES = 16;
const HEAD_BYTES = KID_BYTES + MAC_BYTES + 8;
const PURPOSE = 'bus';

/** A sender, a receiver and what travels between them. */
interface Way {
  readonly to: string;
  readonly from: string;
}

/** Messages between nodes that only holders of the cluster's secret can write, each good once and for one way. */
export class BusSeal {
  readonly #keys: SigningKeys;
  /** The number of the last message of each node. Nodes have names of their own with every start. */
  readonly #last = new Map<string, bigint>();
  #sent = 0n;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  seal(way: Way, payload: Uint8Array): Uint8Array {
    const message = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
    message.writeBigUInt64BE(++this.#sent, KID_BYTES + MAC_BYTES);
    message.set(payload, HEAD_BYTES);
    const { kid } = this.#keys;
    message.set(this.#mac(kid, way, message)!, KID_BYTES);
    message.write(kid, 0, 'hex');
    return message;
  }

  /** Undefined for what no node sent this way, and for what came before. */
  open(way: Way, sender: string, message: Uint8Array): Uint8Array | undefined {
    if (message.length < HEAD_BYTES) return undefined;
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
    const expected = this.#mac(bytes.toString('hex', 0, KID_BYTES), way, bytes);
    if (!expected || !this.#keys.equal(expected, bytes.subarray(KID_BYTES, KID_BYTES + MAC_BYTES))) return undefined;
    const number = bytes.readBigUInt64BE(KID_BYTES + MAC_BYTES);
    if (number <= (this.#last.get(sender) ?? 0n)) return undefined;
    this.#remember(sender, number);
    return bytes.subarray(HEAD_BYTES);
  }

  #mac(kid: string, { to, from }: Way, message: Buffer): Uint8Array | undefined {
    const head = `${to}\0${from}\0`;
    return this.#keys.mac(PURPOSE, kid, head, message.subarray(KID_BYTES + MAC_BYTES))?.subarray(0, MAC_BYTES);
  }

  /** A node that was not heard for longest is forgotten first. */
  #remember(sender: string, number: bigint): void {
    this.#last.delete(sender);
    this.#last.set(sender, number);
    if (this.#last.size <= MOST_SENDERS) return;
    const [oldest] = this.#last.keys();
    this.#last.delete(oldest!);
  }
}

/** More nodes, living and lately dead, than a cluster has. */
const MOST_SENDERS = 4096;
