export { openTunnel, proxyAuthorization } from './connect.ts';
export type { Environment } from './environment.ts';
export { Outgoing } from './outgoing.ts';
export { HttpPort, refuseUpgrade } from './port.ts';
export { LONGEST_PATH_BYTES } from './socket-path.ts';
export { CertificateFileError, TrustedRoots } from './trusted-roots.ts';
