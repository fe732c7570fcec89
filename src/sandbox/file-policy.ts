import type { Child } from '../os/index.ts';
import { ExecError, type Sandbox } from '../protocol/index.ts';

/** How a filesystem call under a sandbox is carried out. */
export type FilePolicy =
  | { readonly kind: 'direct' }
  /** Directly, except for what resolves into procfs. */
  | { readonly kind: 'guardedRead' }
  /** By a helper inside the sandbox; calls with equal keys may share one. */
  | { readonly kind: 'helper'; readonly key: string; launch(program: string): Child };

export interface FilePolicyOptions {
  readonly mode: 'read' | 'write';
  /** The environment the server was started with. */
  readonly env: Readonly<Record<string, string>>;
}

export function resolveFilePolicy(_sandbox: Sandbox, _options: FilePolicyOptions): FilePolicy {
  throw new ExecError('invalidParams', 'sandbox intent cannot be enforced on this executor');
}
