import { constants } from 'node:os';

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** The name of an error number, such as ENOENT. */
export function errorName(errno: number): string {
  return names.get(errno) ?? `E${errno}`;
}
