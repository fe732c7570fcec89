import type { OutputStream } from '../protocol/index.ts';

/** What happens to a process, numbered by the server from 1 without holes. */
export type ProcessEvent =
  | { readonly type: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array }
  | { readonly type: 'exited'; readonly seq: number; readonly exitCode: number; readonly sandboxDenied: boolean }
  | { readonly type: 'closed'; readonly seq: number };
