export { type StdioConnectOptions, stdio } from './connect-stdio.ts';
export { ConnectionRefused, type WebSocketConnectOptions, webSocket } from './connect-websocket.ts';
export { Delivery } from './delivery.ts';
export { memoryLinkPair } from './memory-link.ts';
export { StdioLink } from './stdio-link.ts';
export { splitTokenUrl } from './token-url.ts';
export { Vigil } from './vigil.ts';
export { WebSocketLink, type WebSocketLinkOptions } from './websocket-link.ts';
