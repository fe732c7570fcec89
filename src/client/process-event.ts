import type { Denial, OutputStream } from '../protocol/index.ts';

/** An event of a process, numbered by the server from 1 without gaps. The number is 0 for the first servers, which gave none. */
export type ProcessEvent =
  | { readonly type: 'output'; readonly seq: number; readonly stream: OutputStream; readonly bytes: Uint8Array }
  | {
      readonly type: 'exited';
      readonly seq: number;
      readonly exitCode: number;
      /** Undefined from servers that do not examine failures in sandboxes. */
      readonly sandboxDenied: boolean | undefined;
      /** The accesses that the sandbox denied, if the server reports them. */
      readonly denials?: readonly Denial[] | undefined;
      readonly signal?: string | undefined;
      readonly timedOut?: boolean | undefined;
      readonly limitExceeded?: 'memory' | 'pids' | 'fileBytes' | undefined;
    }
  | { readonly type: 'closed'; readonly seq: number };
