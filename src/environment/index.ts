export { environmentInfo } from './info.ts';
export { version } from './version.ts';
