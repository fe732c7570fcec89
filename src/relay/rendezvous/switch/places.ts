import { environmentToken } from '../api/identifiers.ts';

/** The place of an address, parsed: the receiver of a message at its node. */
export type ParsedPlace =
  | { readonly kind: 'harness'; readonly connectionId: string }
  /** One environment socket, and of its harnesses the one with this connection. */
  | { readonly kind: 'environment'; readonly socketKey: string; readonly connectionId: string }
  | { readonly kind: 'query'; readonly id: string }
  | { readonly kind: 'unknown' };

export const harnessPlace = (connectionId: string): string => `h.${connectionId}`;

/** Where the node of an environment has its end of the link to a harness connection. */
export const environmentPlace = (environmentId: string, epoch: number, connectionId: string): string =>
  `e.${environmentSocketKey(environmentId, epoch)}.${connectionId}`;

export const queryPlace = (id: string): string => `q.${id}`;

/** Names one socket of an environment: each has an epoch of its own. */
export const environmentSocketKey = (environmentId: string, epoch: number): string =>
  `${environmentToken(environmentId)}.${epoch}`;

export function parsePlace(place: string): ParsedPlace {
  const [kind, first = '', second = '', third = ''] = place.split('.');
  if (kind === 'h') return { kind: 'harness', connectionId: first };
  if (kind === 'e') return { kind: 'environment', socketKey: `${first}.${second}`, connectionId: third };
  return kind === 'q' ? { kind: 'query', id: first } : { kind: 'unknown' };
}
