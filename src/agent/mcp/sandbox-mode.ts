import { PathUri, type Sandbox } from '../../protocol/index.ts';
import { permissionsOf, type SandboxMode } from '../unified-exec/index.ts';

/** The sandbox of file calls, if there is any. */
export function sandboxOf(mode: SandboxMode, cwd: string): Sandbox | undefined {
  if (mode === 'danger-full-access') return undefined;
  const root = PathUri.fromNative(cwd);
  return { permissions: permissionsOf(mode), windowsSandboxLevel: 'disabled', cwd: root, workspaceRoots: [root] };
}

/** What may be written, in words. */
export function describeMode(mode: SandboxMode, cwd: string): string {
  switch (mode) {
    case 'read-only':
      return 'everything may be read and nothing written';
    case 'workspace-write':
      return `everything may be read, and files below ${cwd} and the temporary directories may be written`;
    case 'danger-full-access':
      return 'nothing is restricted';
  }
}
