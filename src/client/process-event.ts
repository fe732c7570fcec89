import type { Denial, OutputStream } from '../protocol/index.ts';

/** What happens to a process, numbered by the server from 1 without gaps; the first servers give no numbers, which is 0 here. */
export type ProcessEvent =
  | { readonly type: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array }
  | {
      readonly type: 'exited';
      readonly seq: number;
      readonly exitCode: number;
      /** Servers before sandboxes were judged do not say. */
      readonly sandboxDenied: boolean | undefined;
      /** What the sandbox has refused, where the server tells. */
      readonly denials?: readonly Denial[] | undefined;
    }
  | { readonly type: 'closed'; readonly seq: number };
