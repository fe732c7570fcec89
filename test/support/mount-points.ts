import type { MountPointClaim, MountPoints } from '../../src/host/sandbox/view/mount-points.ts';

/** A claim whose mount points are there. */
export function claimed(points: MountPoints, ...paths: readonly string[]): MountPointClaim {
  const claim = points.claim(paths);
  claim.prepare();
  return claim;
}
