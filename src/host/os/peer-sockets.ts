import { addon, nativeStatus } from './addon.ts';
import { searchedMarks } from './own-families.ts';

/** The user and the inode of a socket; the inode is 0 if its process has closed it. */
export type PeerSocket = readonly [uid: number, inode: number];

/** One end of a TCP connection, its address as 4 or 16 bytes. */
export interface TcpEnd {
  readonly address: Uint8Array;
  readonly port: number;
}

/** Asks the kernel about the sockets at the other ends of connections. Needs the addon. */
export const peerSockets = {
  isAvailable: (): boolean => nativeStatus().ready,

  ofTcp(peer: TcpEnd, local: TcpEnd): PeerSocket | undefined {
    const found = addon().tcpPeer(peer.address, peer.port, local.address, local.port);
    return Array.isArray(found) ? found : undefined;
  },

  /** The socket at the other end of a Unix socket. */
  ofUnix(fd: number): PeerSocket | undefined {
    const found = addon().unixPeer(fd);
    return Array.isArray(found) ? found : undefined;
  },

  /** Searches for the processes that have sockets open; resolves with the bits of native/peers/peers.h for each inode. */
  holders(inodes: readonly bigint[], outside: boolean): Promise<Uint32Array> {
    return addon().searchHolders(BigUint64Array.from(inodes), searchedMarks(), outside);
  },
};
