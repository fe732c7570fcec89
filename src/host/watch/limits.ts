/** Each is a process of about 1 MB and one of the 128 inotify instances that Linux gives a user. */
export const WATCHES_PER_SESSION = 16;

/** The kernel keeps about 1 kB for each, and lets a user have some 10,000 for each GB of memory. */
export const DIRECTORIES_PER_WATCH = 65_536;

/** Messages on their way to a client that has not confirmed them; they are sent again after a lost connection. */
export const UNCONFIRMED_MESSAGES = 8;

/** Above the 256 KiB at which the program begins another one. */
export const MESSAGE_BYTES = 1024 * 1024;

export const WATCH_ID_BYTES = 64;
