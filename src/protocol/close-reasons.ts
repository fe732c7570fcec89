/** The reason in the close frames of a server that stops; a client that receives it does not reconnect. */
export const SERVER_STOPPING = 'exec-server is stopping';

/** The close code of these frames (RFC 6455, 7.4.1). */
export const GOING_AWAY = 1001;
