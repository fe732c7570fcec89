export { defaultConfig, type ExecServerConfig } from './config.ts';
export {
  DEFAULT_LISTEN_URL,
  ExecServerListenUrlParseError,
  isLoopback,
  type ListenAddress,
  parseListenUrl,
} from './listen-url.ts';
export { ConnectionPoint, type ServeOptions, serve } from './serve.ts';
export { sha256, type WebSocketAuth } from './websocket-auth.ts';
