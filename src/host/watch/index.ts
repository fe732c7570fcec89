export type { WatchAudience } from './watch.ts';
export { Watches, type WatchesOptions, type WatchParams } from './watches.ts';
