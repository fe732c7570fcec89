import { version } from '../../../base/index.ts';
import type { EnvPolicy } from '../../../protocol/index.ts';

/** The conversation that a command runs for. */
export interface Identity {
  readonly threadId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly callId: string;
  /** The version of the program that offers the tools. */
  readonly version?: string | undefined;
}

/** Everything of the machine's own environment, except what commands are told afresh. */
export const defaultEnvPolicy: EnvPolicy = {
  inherit: 'all',
  ignoreDefaultExcludes: true,
  exclude: [
    'CODEX_PERMISSION_PROFILE',
    'CODEX_VERSION',
    'CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS',
    'CODEX_PLUGIN_METRICS_OUTPUT',
  ],
  set: {},
  includeOnly: [],
};

/** Programs that see these print neither colours nor pages, and in one encoding. */
const plainOutput = {
  NO_COLOR: '1',
  TERM: 'dumb',
  LANG: 'C.UTF-8',
  LC_CTYPE: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  COLORTERM: '',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GH_PAGER: 'cat',
  CODEX_CI: '1',
} as const;

/** What is laid over the environment of the machine that runs the command. */
export function environmentOverlay(identity: Identity, networkOff: boolean): Record<string, string> {
  const { threadId, sessionId = threadId, callId } = identity;
  return {
    ...plainOutput,
    ...(threadId !== undefined && { CODEX_THREAD_ID: threadId }),
    ...(sessionId !== undefined && { CODEX_SESSION_ID: sessionId }),
    CODEX_TOOL_CALL_ID: callId,
    CODEX_VERSION: identity.version ?? version,
    ...(networkOff && { CODEX_SANDBOX_NETWORK_DISABLED: '1' }),
  };
}
