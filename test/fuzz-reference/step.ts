export type Params = Readonly<Record<string, unknown>>;

export type Step =
  /** A request. `oddities` counts the values that no client of good will sends. */
  | { readonly kind: 'call'; readonly method: string; readonly params?: unknown; readonly oddities: number }
  /** A whole message as text. */
  | { readonly kind: 'raw'; readonly text: string }
  /** The connection breaks, and the session goes on in another. */
  | { readonly kind: 'resume' }
  /** A second connection asks for the session of the first. */
  | { readonly kind: 'rival' };

/** Where the requests of a sequence lead. */
export interface Place {
  /** URI of the scratch directory of the sequence. */
  readonly base: string;
  /** The HTTP server of the test. */
  readonly upstream: string;
}

const LITERAL = /"literal:([^"]*)"/g;

/** A token that JSON.stringify cannot write, like `1e400`. */
export const literal = (token: string): string => `literal:${token}`;

export const messageText = (message: unknown): string => JSON.stringify(message).replaceAll(LITERAL, '$1');

/** The member of an object, or undefined where there is none. */
export function memberOf(params: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], params);
}
