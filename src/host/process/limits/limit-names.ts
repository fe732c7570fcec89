import type { Params, Result } from '../../../protocol/index.ts';

/** What a process and its descendants may use. */
export type ResourceLimits = NonNullable<Params<'process/start'>['limits']>;
export type LimitName = keyof ResourceLimits;
/** What enforces a limit: see docs/processes.md. */
export type Enforcers = NonNullable<Result<'process/start'>['limitsEnforcedBy']>;
export type ExceededLimit = NonNullable<Result<'process/read'>['limitExceeded']>;
