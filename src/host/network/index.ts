export type { ClientDecision, NetworkDecision, WantedConnection } from './gate.ts';
export { HttpClient } from './http-client.ts';
export { ManagedNetwork, type ManagedNetworkOptions } from './managed-network.ts';
export { ServiceCookies } from './service-cookies.ts';
export { isUnsendable } from './unsendable-variables.ts';
