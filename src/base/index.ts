export { abortable, aborted, onAbort } from './abortable.ts';
export { bearerToken } from './bearer-token.ts';
export {
  concatBytes,
  decodeBase64,
  decodeLatin1,
  decodeUtf8,
  encodeBase64,
  encodeUtf8,
  indexOfAscii,
} from './bytes.ts';
export { Changes } from './changes.ts';
export { type Clock, systemClock } from './clock.ts';
export { Deadline, LONGEST_TIMER_MS } from './deadline.ts';
export { type Deferred, deferred } from './deferred.ts';
export { faultFields } from './fault-fields.ts';
export { HeadTail } from './head-tail.ts';
export { type LogFields, type Logger, silentLogger } from './logger.ts';
export { Mutex } from './mutex.ts';
export { nameMatcher } from './name-matcher.ts';
export { once } from './once.ts';
export { floatText, quoted } from './rust-text.ts';
export { Scope } from './scope.ts';
export { SyncScope } from './sync-scope.ts';
export { UnlessFailed } from './unless-failed.ts';
export { version } from './version.ts';
