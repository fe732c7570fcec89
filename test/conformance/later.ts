/** Transcripts of features that our server does not have yet, and what each waits for. */
export const laterScenarios: Record<string, string> = {
  'capabilities-v2': 'capability discovery',
  'capability-roots-v1': 'capability discovery',
  'environment-config': 'environment configuration',
  'network-proxy': 'the managed network',
  'sandbox-context-errors': 'the sandbox',
  'sandbox-fs-deny': 'the sandbox',
  'sandbox-fs-read-only': 'the sandbox',
  'sandbox-fs-workspace': 'the sandbox',
  'sandbox-not-needed': 'the sandbox',
  'shell-snapshot': 'shell snapshots',
};

/** Beginnings of methods that our server may answer with "not found" for now, in transcripts that are about others. */
export const laterMethods: Record<string, string[]> = {
  'client-resume': ['fs/', 'environmentConfig/'],
  'client-unified-exec': ['fs/', 'environmentConfig/'],
};
