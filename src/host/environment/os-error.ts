import { osErrorText } from '../os/index.ts';

/** What went wrong, in the words the reference has for errors of the operating system. */
export function osErrorOf(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : osErrorText(-errno);
}
