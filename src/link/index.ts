export { memoryLinkPair } from './memory-link.ts';
export { StdioLink } from './stdio-link.ts';
export { WebSocketLink, type WebSocketLinkOptions } from './websocket-link.ts';
