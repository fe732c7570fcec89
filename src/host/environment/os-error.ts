import { osErrorText } from '../os/index.ts';

/** The text of an error; for one of the operating system, the reference's text. */
export function osErrorOf(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : osErrorText(-errno);
}
