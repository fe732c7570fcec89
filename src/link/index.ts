export type { Link } from '../rpc/index.ts';
export { type StdioConnectOptions, stdio } from './connect-stdio.ts';
export { memoryLinkPair } from './memory-link.ts';
export { StdioLink } from './stdio-link.ts';
export { ConnectionRefused, type WebSocketConnectOptions, webSocket } from './websocket/connect-websocket.ts';
export { descriptorOf, type NativeBytes } from './websocket/fast-path.ts';
export { MessageSocket } from './websocket/message-socket.ts';
export { splitTokenUrl } from './websocket/token-url.ts';
export { WebSocketLink, type WebSocketLinkOptions } from './websocket/websocket-link.ts';
