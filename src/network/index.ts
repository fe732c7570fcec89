export type { Attempt, Decision, Opinion } from './gate.ts';
export { type BodyDelta, HttpClient, type HttpClientOptions } from './http-client.ts';
export { ManagedNetwork, type ManagedNetworkOptions } from './managed-network.ts';
