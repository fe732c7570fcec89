import type * as z from 'zod/mini';
import { discoveryMethods } from './discovery.ts';
import { environmentMethods } from './environment.ts';
import { fileMethods, fileNotifications } from './files.ts';
import { httpMethods, httpNotifications } from './http.ts';
import * as network from './network.ts';
import { portMethods, portNotifications } from './ports.ts';
import { processMethods, processNotifications } from './process.ts';
import { withPolicyInSandbox } from './sandbox-dialects.ts';
import { refuseUnknownSandboxMembers } from './sandbox-members.ts';
import { decode, type Method } from './schema.ts';
import { searchMethods } from './search.ts';
import { initialize } from './session.ts';

/** Every request the server answers. The handler table and the client are both typed from this object. */
export const methods = {
  initialize,
  ...environmentMethods,
  ...processMethods,
  ...fileMethods,
  ...searchMethods,
  ...httpMethods,
  ...portMethods,
  ...discoveryMethods,
} satisfies Record<string, Method>;

/** Every notification the server sends. */
export const notifications = {
  ...processNotifications,
  ...fileNotifications,
  ...httpNotifications,
  ...portNotifications,
  'network/policyDecision': network.policyDecision,
};

/** Every request that the server sends; a client answers an unknown one by `methodNotFound`. */
export const clientMethods = {
  'network/policyRequest': network.policyRequest,
} satisfies Record<string, Method>;

export type MethodName = keyof typeof methods;
export type Params<M extends MethodName> = z.output<(typeof methods)[M]['params']>;
export type Result<M extends MethodName> = z.output<(typeof methods)[M]['result']>;

/** The capabilities of the methods beyond the reference's, and of their members. */
export const methodCapabilities: readonly string[] = Object.values<Method>(methods).flatMap(
  ({ capability, extensions = [] }) => [
    ...(capability ? [capability] : []),
    ...extensions.map((each) => each.capability),
  ],
);

/** The capabilities that a server must announce to answer a call as it is meant. */
export function neededCapabilities<M extends MethodName>(name: M, params: Params<M>): string[] {
  const { capability, extensions = [] }: Method = methods[name];
  const given = (params ?? {}) as Readonly<Record<string, unknown>>;
  const used = extensions.filter(({ member, value }) => given[member] === value);
  return [...(capability ? [capability] : []), ...used.map((extension) => extension.capability)];
}

export type NotificationName = keyof typeof notifications;
export type Notification<N extends NotificationName> = z.output<(typeof notifications)[N]>;

/** Decodes the parameters of a request. */
export function decodeParams<M extends MethodName>(method: M, wire: unknown): Params<M> {
  const { params, family } = methods[method];
  const sent = family === 'filesystem' ? withPolicyInSandbox(wire) : wire;
  refuseUnknownSandboxMembers(params, sent);
  return decode(params, sent) as Params<M>;
}

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}

export function isNotificationName(name: string): name is NotificationName {
  return Object.hasOwn(notifications, name);
}
