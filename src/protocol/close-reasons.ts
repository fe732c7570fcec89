/** The reason in the close frames of a server that stops; a client that receives it does not reconnect. */
export const SERVER_STOPPING = 'exec-server is stopping';

/** The close code of these frames (RFC 6455, 7.4.1). */
export const GOING_AWAY = 1001;

/** The reason in the close frame to a client whose token was removed, which ended its sessions: it does not reconnect. */
export const TOKEN_REVOKED = 'the token was revoked';

/** The reason where the token is not good any longer; with another of the same name the session can be resumed. */
export const TOKEN_EXPIRED = 'the token has expired';

/** The close code of both. */
export const POLICY_VIOLATION = 1008;
