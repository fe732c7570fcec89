export { bubblewrap, confirmBubblewrap, tryBubblewrap } from './bubblewrap.ts';
export { type Confined, confine } from './confine.ts';
export { looksDenied } from './denial.ts';
export { resolveFilePolicy } from './file-policy.ts';
export { expandGlobsLater } from './glob-scan.ts';
export { HelperLaunchers, type LaunchedHelper } from './helper-launchers.ts';
export { type Policy, resolvePolicy } from './policy.ts';
export { Refusal } from './refusal.ts';
export { type Seatbelt, type SeatbeltNetwork, seatbelt, seatbeltArgv } from './seatbelt.ts';
