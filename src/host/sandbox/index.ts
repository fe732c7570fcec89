export { KILLED_BY_FILTER, looksDenied, showsOnlyDenial, withoutRefusedExecs } from './denial.ts';
export { CommandLaunchers } from './launch/command-launchers.ts';
export { type Confined, confine } from './launch/confine.ts';
export { HelperLaunchers, type LaunchedHelper } from './launch/helper-launchers.ts';
export { SessionNetwork } from './launch/session-network.ts';
export { type KeyedView, requireCwd, resolveFilePolicy } from './policy/file-access.ts';
export { expandGlobsLater } from './policy/glob-scan.ts';
export { isNarrower } from './policy/narrower.ts';
export { readablePaths } from './policy/readable-paths.ts';
export {
  type AccessPolicy,
  hasFullRead,
  nativePolicyPath,
  resolvePolicy,
  workspaceRootsOf,
} from './policy/resolution.ts';
export { SandboxHost, type SandboxHostOptions } from './sandbox-host.ts';
export { UnenforceablePolicy } from './unenforceable-policy.ts';
