import type { Pins } from './broker-protocol.ts';
import type { ExecRequest } from './exec-request.ts';
import { directoryIdentity, isSame } from './file-identity.ts';
import { trustOf } from './trust.ts';
import type { WritablePaths } from './writable-paths.ts';

/** What the sandbox of a call lets commands write, and whether it hides files from them. */
export interface CallConfinement {
  readonly writable: WritablePaths;
  /** Hidden files stay hidden inside the sandbox alone, so nothing may run outside. */
  readonly hidesFiles: boolean;
}

/** Where an exec is to run, by the state of the disk at this moment. */
export type Destination =
  /** In the sandbox: no rule mentions it. */
  | { readonly kind: 'unruled' }
  /** In the sandbox, although a rule would let it out. */
  | { readonly kind: 'inside'; readonly real: string | undefined; readonly reason: string }
  | { readonly kind: 'outside'; readonly real: string | undefined; readonly pins: Pins };

/** The destination of an exec that a rule lets out. Without confinement every process is outside already. */
export function destinationOf(
  request: ExecRequest,
  confinement: CallConfinement | undefined,
  ruleNamesPath: boolean,
): Destination {
  const inside = (reason: string, real?: string): Destination => ({ kind: 'inside', real, reason });
  const workdir = directoryIdentity(request.exact.workdir);
  if (workdir === undefined) return inside('its working directory is not there outside the sandbox');
  if (!confinement) return { kind: 'outside', real: undefined, pins: { workdir } };
  if (confinement.hidesFiles) return inside('the sandbox hides files');
  const trust = trustOf(request, confinement.writable, ruleNamesPath);
  if (!trust.trusted) return inside(trust.reason, trust.real);
  const seen = directoryIdentity(Buffer.concat([Buffer.from(`/proc/${request.pid}/root`), request.exact.workdir]));
  if (!isSame(workdir, seen)) return inside('its working directory is another one inside the sandbox', trust.real);
  return { kind: 'outside', real: trust.real, pins: { program: trust.identity, workdir } };
}
