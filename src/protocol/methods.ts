import type * as z from 'zod/mini';
import * as discovery from './discovery.ts';
import * as environment from './environment.ts';
import * as files from './files.ts';
import * as http from './http.ts';
import * as network from './network.ts';
import * as process from './process.ts';
import { withSandboxOfApril } from './sandbox-dialects.ts';
import { refuseUnknownSandboxMembers } from './sandbox-members.ts';
import { decode, type Method } from './schema.ts';
import { initialize } from './session.ts';

/** Every request the server answers. The handler table and the client are both typed from this object. */
export const methods = {
  initialize,
  'environment/info': environment.info,
  'environment/status': environment.status,
  'environmentConfig/read': environment.configRead,
  'process/start': process.start,
  'process/read': process.read,
  'process/write': process.write,
  'process/closeStdin': process.closeStdin,
  'process/signal': process.signal,
  'process/terminate': process.terminate,
  'process/resize': process.resize,
  'process/wait': process.wait,
  'process/snapshot': process.snapshot,
  'process/list': process.list,
  'fs/readFile': files.readFile,
  'fs/writeFile': files.writeFile,
  'fs/open': files.open,
  'fs/readBlock': files.readBlock,
  'fs/writeBlock': files.writeBlock,
  'fs/close': files.close,
  'fs/createDirectory': files.createDirectory,
  'fs/getMetadata': files.getMetadata,
  'fs/canonicalize': files.canonicalize,
  'fs/readDirectory': files.readDirectory,
  'fs/walk': files.walk,
  'fs/remove': files.remove,
  'fs/copy': files.copy,
  'fs/watchMissing': files.watchMissing,
  'http/request': http.request,
  'capabilityRoots/discoverV1': discovery.discoverRoots,
  'capabilities/discoverV2': discovery.discover,
} satisfies Record<string, Method>;

/** Every notification the server sends. */
export const notifications = {
  'process/output': process.output,
  'process/exited': process.exited,
  'process/closed': process.closed,
  'process/started': process.started,
  'process/failed': process.failed,
  'fs/missingChanged': files.missingChanged,
  'http/request/bodyDelta': http.bodyDelta,
  'network/policyDecision': network.policyDecision,
};

/** Every request the server sends; a client that does not know one answers that it does not. */
export const clientMethods = {
  'network/policyRequest': network.policyRequest,
} satisfies Record<string, Method>;

export type MethodName = keyof typeof methods;
export type Params<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
export type Result<M extends MethodName> = z.output<(typeof methods)[M]['result']>;

export type NotificationName = keyof typeof notifications;
export type Notification<N extends NotificationName> = z.output<(typeof notifications)[N]>;

/** The parameters of a request that came over the wire. */
export function decodeParams<M extends MethodName>(method: M, wire: unknown): Params<M> {
  const { params, family } = methods[method];
  const sent = family === 'filesystem' ? withSandboxOfApril(wire) : wire;
  refuseUnknownSandboxMembers(params, sent);
  return decode(params, sent) as Params<M>;
}

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}

export function isNotificationName(name: string): name is NotificationName {
  return Object.hasOwn(notifications, name);
}
