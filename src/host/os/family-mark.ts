// A mark is a 64-bit number that every process of a family has as its RLIMIT_RTTIME, which all descendants inherit: 0111, then 22
// bits server, 18 bits session, 20 bits process.
const serverBits = 22;
const sessionBits = 18;
const processBits = 20;
const tag = 0b0111n;

export const SERVERS = 2 ** serverBits;
export const PROCESSES = 2 ** processBits;

/** Session numbers for processes that belong to no session of a client. */
export const ownSessions = {
  helpers: 2 ** sessionBits - 1,
  shellCalls: 2 ** sessionBits - 2,
  trials: 2 ** sessionBits - 3,
  guardian: 2 ** sessionBits - 4,
} as const;

/** How many session numbers there are for clients; `ownSessions` are above them. */
export const SESSIONS = 2 ** sessionBits - 16;

/** Selects the family of one process. */
export const PROCESS_MASK = 0xffff_ffff_ffff_ffffn;

/** Selects the families of all processes of a session. */
export const SESSION_MASK = (PROCESS_MASK >> BigInt(processBits)) << BigInt(processBits);

/** Selects all families of a server. */
export const SERVER_MASK = (SESSION_MASK >> BigInt(processBits + sessionBits)) << BigInt(processBits + sessionBits);

/** Selects the families of all servers. */
export const ANY_SERVER_MASK = 0xf000_0000_0000_0000n;

/** The mark of one process. */
export function familyMark(server: number, session: number, process: number): bigint {
  const upper = (tag << BigInt(serverBits)) | field('server', server, serverBits);
  const middle = (upper << BigInt(sessionBits)) | field('session', session, sessionBits);
  return (middle << BigInt(processBits)) | field('process', process, processBits);
}

function field(name: string, number: number, bits: number): bigint {
  if (Number.isInteger(number) && number >= 0 && number < 2 ** bits) return BigInt(number);
  throw new RangeError(`${number} is not a ${name} number of a family mark, which has ${bits} bits`);
}

export const serverOf = (mark: bigint): number =>
  Number(BigInt.asUintN(serverBits, mark >> BigInt(sessionBits + processBits)));
export const sessionOf = (mark: bigint): number => Number(BigInt.asUintN(sessionBits, mark >> BigInt(processBits)));
export const processOf = (mark: bigint): number => Number(BigInt.asUintN(processBits, mark));
