import type { CommandRequest, Confinement } from '../../src/agent/approval/index.ts';

/** Files can be read and not written; nothing else is forbidden. */
export const readOnly: Confinement = {
  restrictsFiles: true,
  hasDeniedReads: false,
  managedNetwork: false,
  ownNetworkPolicy: false,
};

/** A call that wants to run a script. */
export const scriptRequest = (script: string, change: Partial<CommandRequest> = {}): CommandRequest => ({
  callId: 'call_1',
  environmentId: 'box',
  argv: ['/bin/bash', '-c', script],
  cwd: '/work',
  tty: false,
  sandboxPermissions: 'use_default',
  confinement: readOnly,
  ...change,
});

/** What a call says that would rather run outside the sandbox. */
export const escalated = { sandboxPermissions: 'require_escalated', justification: 'may I' } as const;
