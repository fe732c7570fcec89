import { mkdtempSync, realpathSync } from 'node:fs';

/**
 * A new directory that no sandbox opens by itself. `workspace-write` opens /tmp and $TMPDIR, where the checkout may lie, and the
 * reference does not install its sandbox helper there.
 */
export const makeOutOfBounds = (name: string): string => realpathSync(mkdtempSync(`/var/tmp/exec-server-${name}-`));
