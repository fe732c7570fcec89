import { isEnvironmentPattern, isTokenName, type TokenEntry, type TokenRight, tokenRights } from '../access/index.ts';
import type { OptionTable, Values } from './arguments.ts';
import { UsageError } from './usage-error.ts';

export const tokenOptions = {
  name: {
    type: 'string',
    value: 'NAME',
    help: 'what it is called in logs, errors and lists: 1 to 64 characters of A-Z a-z 0-9 . _ -',
  },
  scopes: {
    type: 'string',
    value: 'SCOPE,…',
    multiple: true,
    help: `what it is good for: ${tokenRights.join(', ')}; none for a token that may only ask whether a server is there`,
  },
  environments: {
    type: 'string',
    value: 'ID,…',
    multiple: true,
    help: 'environments for executor, harness and, at a rendezvous, admin; * stands for anything',
  },
  expires: {
    type: 'string',
    value: 'TIME',
    help: 'until when: a time with its zone, such as 2027-01-31T12:00:00Z, or from now, such as 90m, 12h or 30d [default: until it is revoked]',
  },
  sessions: {
    type: 'string',
    value: 'N',
    help: 'sessions it may have at a time, with and without a connection [default: any number]',
  },
  processes: {
    type: 'string',
    value: 'N',
    help: 'processes it may have at a time, over all its sessions [default: any number]',
  },
  'durable-bytes': {
    type: 'string',
    value: 'N',
    help: 'bytes it may have kept on disk; stored for later versions, as none are kept now',
  },
  replace: {
    type: 'boolean',
    help: 'replace the token of this name, whose secret is good no more; its sessions can be resumed with the new one',
  },
} as const satisfies OptionTable;

/** The entry that the options describe, without its digest. */
export function newToken(values: Values<typeof tokenOptions>, now: number): Omit<TokenEntry, 'sha256'> {
  const { name } = values;
  if (name === undefined) throw new UsageError('--name NAME is required');
  if (!isTokenName(name)) {
    throw invalid('name', name, '1 to 64 characters of A-Z a-z 0-9 . _ -, the first a letter or digit');
  }
  const scopes = scopesOf(values.scopes);
  const environments = words(values.environments);
  const wrong = environments.find((id) => !isEnvironmentPattern(id));
  if (wrong !== undefined)
    throw invalid('environments', wrong, 'ids of A-Z a-z 0-9 _ -, in which * stands for anything');
  const relayed = scopes.find((scope) => scope === 'executor' || scope === 'harness');
  if (relayed && environments.length === 0) throw new UsageError(`scope ${relayed} needs --environments`);
  const limits = Object.fromEntries(
    (['sessions', 'processes', 'durable-bytes'] as const).flatMap((option) => {
      const text = values[option];
      return text === undefined
        ? []
        : [[option === 'durable-bytes' ? 'durableBytes' : option, wholeNumber(option, text)]];
    }),
  );
  return {
    name,
    scopes,
    ...(environments.length > 0 && { environments }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(values.expires !== undefined && { expires: timeOf(values.expires, now) }),
  };
}

function scopesOf(given: readonly string[] | undefined): TokenRight[] {
  const names = words(given);
  if (given === undefined || names.length === 0)
    throw new UsageError(`--scopes is required: ${tokenRights.join(', ')}, or none`);
  if (names.length === 1 && names[0] === 'none') return [];
  const unknown = names.find((name) => !tokenRights.includes(name as TokenRight));
  if (unknown !== undefined) throw invalid('scopes', unknown, `${tokenRights.join(', ')}, or none alone`);
  return [...new Set(names as TokenRight[])];
}

const words = (given: readonly string[] = []): string[] =>
  given
    .flatMap((text) => text.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function timeOf(text: string, now: number): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const time =
    amount !== undefined ? now + Number(amount) * UNITS[unit]! * 1000 : isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw invalid('expires', text, 'a time such as 2027-01-31T12:00:00Z, or 90m, 12h or 30d from now');
  if (time <= now) throw new UsageError(`--expires ${text} is over already`);
  return new Date(time).toISOString();
}

function wholeNumber(option: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(option, text, 'a whole number');
}

const invalid = (option: string, value: string, expected: string): UsageError =>
  new UsageError(`invalid value '${value}' for --${option}: expected ${expected}`);
