import { version } from '../../../base/index.ts';
import type { EnvPolicy } from '../../../protocol/index.ts';

/** The ids of the conversation and the call that a command runs for. */
export interface ConversationIds {
  readonly threadId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly callId: string;
  /** The version of the program that offers the tools. */
  readonly version?: string | undefined;
}

/** The variables of the machine, except those that are set anew for each command. */
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

/** With these, programs print no colours, start no pager and use UTF-8. */
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

/** The variables that are set on top of the machine's own. */
export function environmentOverlay(ids: ConversationIds, networkOff: boolean): Record<string, string> {
  const { threadId, sessionId = threadId, callId } = ids;
  return {
    ...plainOutput,
    ...(threadId !== undefined && { CODEX_THREAD_ID: threadId }),
    ...(sessionId !== undefined && { CODEX_SESSION_ID: sessionId }),
    CODEX_TOOL_CALL_ID: callId,
    CODEX_VERSION: ids.version ?? version,
    ...(networkOff && { CODEX_SANDBOX_NETWORK_DISABLED: '1' }),
  };
}
