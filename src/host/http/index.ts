export { openTunnel, proxyAuthorization } from './connect.ts';
export { HttpPort, refuseUpgrade } from './port.ts';
export { environmentProxy, tunnelTo } from './proxy-tunnel.ts';
export { CertificateFileError, checkCertificateFile, trustedRoots } from './trusted-roots.ts';
