export { Broker, type BrokerEvent, type BrokerOptions, type Passage } from './broker.ts';
export type { Ending, FileIdentity, ShellStart } from './broker-protocol.ts';
export type { ExactCommand, Limit, LimitAmount } from './exact-command.ts';
export type { ExecRequest } from './exec-request.ts';
export { ExecShell, type ExecShellOptions, type ShellRequest } from './exec-shell.ts';
export { type InterceptionTrial, tryInterception } from './interception.ts';
export type { Ask, Question, Reply } from './question.ts';
export type { ShellOutcome } from './shell-call.ts';
export type { Interception, ShellPrograms } from './shell-launch.ts';
