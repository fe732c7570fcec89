import type { Pins } from './broker-protocol.ts';
import type { ExecRequest } from './exec-request.ts';
import { directoryIdentity, isSame } from './file-identity.ts';
import { trustIn } from './trust.ts';
import type { Places } from './writable-places.ts';

export interface Confinement {
  readonly places: Places;
  /** Whether the sandbox hides something, which only stays hidden inside. */
  readonly hides: boolean;
}

/** Where an exec is to run, as things are at one moment. */
export type Destination =
  /** Where it is: no rule says anything else. */
  | { readonly kind: 'unruled' }
  /** Where it is, although a rule would let it out. */
  | { readonly kind: 'inside'; readonly real: string | undefined; readonly reason: string }
  | { readonly kind: 'outside'; readonly real: string | undefined; readonly pins: Pins };

/** The destination of an exec that a rule lets out. Without confinement everything is outside already. */
export function destinationOf(
  request: ExecRequest,
  confinement: Confinement | undefined,
  namesPath: boolean,
): Destination {
  const inside = (reason: string, real?: string): Destination => ({ kind: 'inside', real, reason });
  const workdir = directoryIdentity(request.exact.workdir);
  if (workdir === undefined) return inside('its working directory is not there outside the sandbox');
  if (!confinement) return { kind: 'outside', real: undefined, pins: { workdir } };
  if (confinement.hides) return inside('the sandbox hides files');
  const trust = trustIn(request, confinement.places, namesPath);
  if (!trust.trusted) return inside(trust.reason, trust.real);
  const seen = directoryIdentity(Buffer.concat([Buffer.from(`/proc/${request.pid}/root`), request.exact.workdir]));
  if (!isSame(workdir, seen)) return inside('its working directory is another one inside the sandbox', trust.real);
  return { kind: 'outside', real: trust.real, pins: { program: trust.identity, workdir } };
}
