import type { Ending } from './program.ts';

export type SandboxMode = 'danger-full-access' | 'workspace-write' | 'read-only';

export type Approval = 'never' | 'on-request' | 'untrusted' | { granular: Record<string, boolean> };

/** Everything a granular policy can let through to the user. */
export const everyQuestion = {
  sandbox_approval: true,
  rules: true,
  skill_approval: true,
  request_permissions: true,
  mcp_elicitations: true,
};

/** How to start the real client, whichever of its two front ends. */
export interface CodexOptions {
  readonly binary: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly sandbox: SandboxMode;
  readonly approval: Approval;
  /** Whether the user accepts a command the client asks about. */
  readonly accepts: (command: string) => boolean;
}

/** The real Codex client, busy with one turn. */
export interface Codex extends AsyncDisposable {
  readonly ended: Promise<Ending>;
  readonly stderr: string;
  start(): Promise<void>;
  /** Resolves when the turn has completed and rejects when it has failed. */
  turnCompleted(): Promise<void>;
  kill(): void;
}

export const prompt = 'do what the script says';
