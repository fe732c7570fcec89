/** Transcripts of features that our server does not have yet, and what each waits for. */
export const laterScenarios: Record<string, string> = {};

/** Beginnings of methods that our server may answer with "not found" for now, in transcripts that are about others. */
export const laterMethods: Record<string, string[]> = {};
