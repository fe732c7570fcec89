export { Host, type HostOptions } from './host.ts';
