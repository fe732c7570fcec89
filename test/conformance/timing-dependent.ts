/** Answers to `process/read` that depend on the moment they are given, by scenario and request id. */
export const timingDependent: Record<string, string[]> = {
  // Woken by the exit: the streams may have ended by then or not.
  'process-read-longpoll poll-2': ['closed', 'nextSeq'],
  'concurrent-dispatch poll': ['closed', 'nextSeq'],
  // A descendant prints and ends half a second after the exit; a slow machine answers only then.
  'process-exit-before-close 3': ['chunks', 'closed', 'nextSeq'],
};
