/** Why a server that stops closes its connections; a client that hears it does not try to come back. */
export const SERVER_STOPPING = 'exec-server is stopping';

/** The WebSocket close code that goes with it: the endpoint is going away. */
export const GOING_AWAY = 1001;
