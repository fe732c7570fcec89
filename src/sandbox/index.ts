export { bubblewrap, tryBubblewrap } from './bubblewrap.ts';
export { type Confined, confine, prepareSandboxes } from './confine.ts';
export { looksDenied } from './denial.ts';
export { type LaunchedHelper, resolveFilePolicy } from './file-policy.ts';
export { expandGlobsLater } from './glob-scan.ts';
export { type Policy, resolvePolicy } from './policy.ts';
export { Refusal } from './refusal.ts';
export { type Seatbelt, type SeatbeltNetwork, seatbelt, seatbeltArgv } from './seatbelt.ts';
