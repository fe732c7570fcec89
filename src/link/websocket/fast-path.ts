import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ByteOperations, FrameGatherer, type MessageReceiver } from './frame-gatherer.ts';
import { FrameWriter } from './frame-writer.ts';

/** The native operations of the fast path. */
export interface NativeBytes extends ByteOperations {
  /** Writes bytes to a socket without waiting; gives the number written, negative after an error. */
  send(descriptor: number, bytes: Uint8Array, more?: Uint8Array): number;
}

/**
 * Sends and receives the messages of a server's WebSocket past the `ws` package and Node's streams, which take longer than
 * answering a small request does: 5.9 instead of 9.2 µs of CPU for each. It relies on two things that Node keeps private,
 * the descriptor behind a socket (`_handle.fd`) and the point where bytes enter its stream (`push`); this file is the only
 * place that does. What it cannot use it leaves to `ws`; `--no-fast-path` leaves everything.
 */
export class FastPath {
  readonly #socket: PlainSocket;
  readonly #native: NativeBytes;
  readonly #writer: FrameWriter;

  private constructor(socket: PlainSocket, native: NativeBytes, written: () => void) {
    this.#socket = socket;
    this.#native = native;
    this.#writer = new FrameWriter(socket, (bytes, more) => this.#sendNow(bytes, more), written);
  }

  /**
   * Undefined unless the socket is a plain TCP or Unix socket: written to the descriptor of a TLS socket, messages would be
   * unencrypted. `written` is called when bytes that waited in the socket have been sent.
   */
  static over(socket: Duplex, native: NativeBytes, written: () => void): FastPath | undefined {
    return isPlain(socket) ? new FastPath(socket, native, written) : undefined;
  }

  /** Hands messages that arrive whole to the receiver, and passes the others to `ws` in fewer pieces. */
  receive(receiver: MessageReceiver): void {
    const socket = this.#socket;
    // Bytes that arrived with the handshake may end in the middle of a frame.
    if (socket.readableLength > 0) return;
    const push = socket.push.bind(socket);
    let hasRoom = true;
    const pass = (piece: Buffer): void => {
      hasRoom = push(piece);
    };
    const gatherer = new FrameGatherer(pass, this.#native, receiver);
    socket.push = (chunk: Buffer | null) => {
      hasRoom = true;
      try {
        if (chunk === null) gatherer.end();
        else gatherer.add(chunk);
      } catch (error) {
        socket.destroy(error as Error); // such as out of memory: ends only this connection
        return false;
      }
      return chunk === null ? push(null) : hasRoom;
    };
  }

  write(message: string | Uint8Array): void {
    this.#writer.write(message);
  }

  /** Collects what is written until `flush`, which must be called in the same turn of the event loop. */
  hold(): void {
    this.#writer.hold();
  }

  /** Sends what is collected; called before `ws` writes to the socket. */
  flush(): void {
    this.#writer.flush();
  }

  /** Sends nothing while bytes wait in the socket, or after its end, which a write to the socket then reports. */
  #sendNow(bytes: Uint8Array, more?: Uint8Array): number {
    const socket = this.#socket;
    if (!socket.writable || socket.writableLength > 0) return 0;
    return Math.max(0, this.#native.send(socket._handle?.fd ?? -1, bytes, more));
  }
}

/** The descriptor of a plain socket that is open, for questions about its peer that Node does not answer. */
export function descriptorOf(socket: Duplex): number | undefined {
  const descriptor = isPlain(socket) ? socket._handle?.fd : undefined;
  return descriptor !== undefined && descriptor >= 0 ? descriptor : undefined;
}

interface PlainSocket extends Socket {
  readonly _handle?: { readonly fd?: number } | null;
}

/** Compares the prototype because a `TLSSocket` is an instance of `Socket`, too. */
const isPlain = (socket: Duplex): socket is PlainSocket => Object.getPrototypeOf(socket) === Socket.prototype;
