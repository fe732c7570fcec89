export type { ProcessAudience } from './audience.ts';
export { inheritable } from './child-environment.ts';
export { ManagedProcess } from './managed-process.ts';
export type { SocketHolder } from './network/socket-holders.ts';
export type { ObservedExit, ObservedStart, ProcessObserver, WantedProcess } from './observer.ts';
export { processRequests } from './requests.ts';
export { checkNetwork, managedNetworkOf } from './start-network.ts';
export { type Preparations, ProcessTable } from './table.ts';
