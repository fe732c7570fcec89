import * as z from 'zod/mini';
import { decodeBase64, encodeBase64, quoted } from '../base/index.ts';
import { type ErrorKind, ExecError } from './errors.ts';
import { PathUri } from './path-uri.ts';
import type { Scope } from './scopes.ts';

/** A member, or a value of one, that a server knows if it announces the capability. */
export interface Extension {
  readonly capability: string;
  readonly member: string;
  readonly value: string | boolean;
}

/** A request: the schemas of its parameters and its result. */
export interface Method<P extends z.ZodMiniType = z.ZodMiniType, R extends z.ZodMiniType = z.ZodMiniType> {
  /** Names this kind of request in the error for one that comes before `initialized`. */
  readonly family: string;
  /** What a token must grant for it; `any` is satisfied by every token. */
  readonly scope: Scope | 'any';
  /** The capability that servers with this method announce; a method without one is the reference's. */
  readonly capability?: string;
  /** What this server knows beyond the reference in a method that both have. */
  readonly extensions?: readonly Extension[];
  /** Whether a client may repeat the request when the connection was lost before the answer. */
  readonly repeatable?: boolean;
  readonly params: P;
  readonly result: R;
}

export function method<P extends z.ZodMiniType, R extends z.ZodMiniType>(definition: Method<P, R>): Method<P, R> {
  return definition;
}

/** Absent and `null` mean the same. */
export const optional = z.nullish;

/** The parameters of a method without any: absent, `null` or `{}`. */
export const noParams = z.custom<null | undefined | Record<string, never>>(
  (value) => value === null || value === undefined || isEmptyObject(value),
  { error: ({ input }) => `invalid type: ${nameOf(input)}, expected unit` },
);

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value as object).length === 0;
}

/** An unsigned 64-bit integer; JavaScript rounds only those that are far above every limit. */
export const unsigned = z
  .number()
  .check(z.refine((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 64, 'invalid number'));

/** Bytes: a `Uint8Array` in the program, base64 on the wire. Large ones arrive already decoded (rpc/envelope). */
export const bytes = base64((reason) => reason);

/** Bytes whose decoding fails with the error that `refusal` makes. */
export function base64(refusal: (reason: Error) => Error) {
  return z.codec(
    z.union([z.string(), z.instanceof(Uint8Array)]),
    z.custom<Uint8Array>((value) => value instanceof Uint8Array),
    {
      decode: (value, context) =>
        refusing(context.issues, value, () => (typeof value === 'string' ? decodeText(value, refusal) : value)),
      encode: (value) => encodeBase64(value),
    },
  );
}

function decodeText(text: string, refusal: (reason: Error) => Error): Uint8Array {
  try {
    return decodeBase64(text);
  } catch (reason) {
    throw refusal(reason as Error);
  }
}

/** A path: a `PathUri` in the program, a `file:` URI on the wire. */
export const pathUri = z.codec(
  z.string(),
  z.custom<PathUri>((value) => value instanceof PathUri, "expected a PathUri, such as PathUri.fromNative('/srv')"),
  {
    decode: (value, context) => refusing(context.issues, value, () => PathUri.parse(value)),
    encode: (value) => value.href,
  },
);

type Issues = { code: 'custom'; message: string; input: unknown; params: { kind: ErrorKind | undefined } }[];

/** Turns an error of a decoder into an issue of the schema. */
export function refusing<T>(issues: unknown[], input: unknown, decode: () => T): T {
  try {
    return decode();
  } catch (refusal) {
    const kind = refusal instanceof ExecError ? refusal.kind : undefined;
    (issues as Issues).push({ code: 'custom', message: (refusal as Error).message, input, params: { kind } });
    return z.NEVER as T;
  }
}

/** Decodes a value from its wire form; the error has the reference's message. */
export function decode<S extends z.ZodMiniType>(schema: S, value: unknown): z.output<S> {
  const outcome = z.safeParse(schema, value, { reportInput: true });
  if (outcome.success) return outcome.data;
  const issue = firstInText(outcome.error.issues, value);
  throw new ExecError(kindOf(issue) ?? 'invalidParams', describe(issue));
}

const kindOf = (issue: z.core.$ZodIssue): ErrorKind | undefined =>
  issue.code === 'custom' ? (issue.params?.kind as ErrorKind | undefined) : undefined;

/**
 * The first of several faults in the order of the text, in which the reference finds them: a missing member is found at the end of its
 * object, and a fault that does not concern the shape after all others.
 */
function firstInText(issues: readonly z.core.$ZodIssue[], value: unknown): z.core.$ZodIssue {
  const places = new Map(issues.map((issue) => [issue, placeOf(issue, value)]));
  return issues.toSorted((one, other) => comparePlaces(places.get(one)!, places.get(other)!))[0]!;
}

/** The positions of a fault in the objects around it, from the outermost inwards. */
function placeOf(issue: z.core.$ZodIssue, value: unknown): number[] {
  let container = value;
  const positions = issue.path.map((key) => {
    const at = Object.keys(container ?? {}).indexOf(String(key));
    container = (container as Record<PropertyKey, unknown> | undefined)?.[key];
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  });
  const isShape = (kindOf(issue) ?? 'invalidParams') === 'invalidParams' && !issue.message.startsWith('must ');
  return [isShape ? 0 : 1, ...positions];
}

function comparePlaces(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((position, index) => position !== other[index]);
  return at < 0 ? 0 : one[at]! < (other[at] ?? 0) ? -1 : 1;
}

/** The wire form of a value. */
export function encode<S extends z.ZodMiniType>(schema: S, value: z.output<S>): z.input<S> {
  if (isPlain(schema)) return value as z.input<S>;
  try {
    return z.encode(schema, value, { reportInput: true });
  } catch (error) {
    throw error instanceof z.core.$ZodError ? new ExecError('invalidParams', located(error.issues[0]!)) : error;
  }
}

/** Path and reason of the first fault in a value; for a union, in the alternative with the fewest faults. */
function located(issue: z.core.$ZodIssue, path: readonly PropertyKey[] = issue.path): string {
  const closest =
    issue.code === 'invalid_union' ? issue.errors.toSorted((a, b) => a.length - b.length)[0]?.[0] : undefined;
  if (closest) return located(closest, [...path, ...closest.path]);
  const isTold = issue.code === 'custom' || issue.input !== undefined;
  const reason = isTold ? describe(issue) : 'missing, or of another type (a path is a PathUri)';
  const place = reason.startsWith(`${String(path.at(-1))} `) ? path.slice(0, -1) : path; // the reason names the member itself
  return [place.map(String).join('.'), reason].filter((part) => part !== '').join(': ');
}

const plain = new WeakMap<object, boolean>();

/** Whether values of this schema equal their wire form: no codec is inside. */
function isPlain(schema: z.ZodMiniType): boolean {
  let known = plain.get(schema);
  if (known === undefined) {
    plain.set(schema, true); // ends the recursion for a schema that contains itself
    const { def } = schema._zod;
    known = def.type !== 'pipe' && innerSchemas(def).every(isPlain);
    plain.set(schema, known);
  }
  return known;
}

/** The schemas a schema is made of. */
function innerSchemas(definition: object): z.ZodMiniType[] {
  const isSchema = (value: unknown): value is z.ZodMiniType =>
    typeof value === 'object' && value !== null && '_zod' in value;
  return Object.values(definition).flatMap((value: unknown) => {
    if (isSchema(value)) return [value];
    return typeof value === 'object' && value !== null ? Object.values(value).filter(isSchema) : [];
  });
}

const expectations: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'a boolean',
  number: 'u64', // no request has a number of another kind
  array: 'a sequence',
  record: 'a map',
  object: 'a map',
};

function describe(issue: z.core.$ZodIssue): string {
  const field = issue.path.at(-1);
  if (issue.input === undefined && typeof field === 'string') return `missing field \`${field}\``;
  if (issue.code === 'invalid_type') {
    return `invalid type: ${nameOf(issue.input)}, expected ${expectations[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') return unknownVariant(issue.input, issue.values.map(String));
  if (issue.code === 'unrecognized_keys') return `unknown field \`${issue.keys[0]}\``;
  if (issue.code === 'invalid_union') return describeUnion(issue);
  return typeof field === 'string' && issue.message.startsWith('must ') ? `${field} ${issue.message}` : issue.message;
}

function describeUnion(issue: z.core.$ZodIssueInvalidUnion): string {
  const { discriminator } = issue;
  if (discriminator !== undefined) {
    const tag = (issue.input as Record<string, unknown>)[discriminator];
    const options = 'options' in issue ? (issue.options ?? []) : [];
    const known = options.filter((option) => typeof option === 'string');
    return tag === undefined ? `missing field \`${discriminator}\`` : unknownVariant(tag, known);
  }
  if (issue.message !== NO_MESSAGE) return issue.message;
  const first = issue.errors[0]?.[0];
  return first ? describe(first) : 'data did not match any variant';
}

/** What zod says of a union whose schema says nothing itself. */
const NO_MESSAGE = 'Invalid input';

function unknownVariant(input: unknown, known: readonly string[]): string {
  if (typeof input !== 'string') return `invalid type: ${nameOf(input)}, expected a string`;
  const quoted = known.map((name) => `\`${name}\``);
  const expected = quoted.length < 3 ? quoted.join(' or ') : `one of ${quoted.join(', ')}`;
  return `unknown variant \`${input}\`, expected ${expected}`;
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'sequence';
  if (typeof value === 'string') return `string ${quoted(value.length > 200 ? `${value.slice(0, 200)}…` : value)}`;
  if (typeof value === 'boolean') return `boolean \`${value}\``;
  return typeof value === 'object' ? 'map' : typeof value;
}
