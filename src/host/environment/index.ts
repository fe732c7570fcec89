export { environmentInfo } from './info.ts';
