/**
 * A right that a token grants: `run` starts and steers processes, `view` looks at them, `files` calls the file system, `forward`
 * opens connections to ports, `approve` answers questions, `admin` reaches the work of others. None implies another.
 */
export const scopes = ['run', 'view', 'files', 'forward', 'approve', 'admin'] as const;
export type Scope = (typeof scopes)[number];
