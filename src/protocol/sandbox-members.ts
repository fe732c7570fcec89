import type * as z from 'zod/mini';
import { ExecError } from './errors.ts';

/**
 * Refuses members whose name begins with `sandbox` and that no schema knows, at every level the schemas describe. Other
 * unknown members are ignored, as the reference ignores them; a member named `sandbox…` may be a restriction, and a request
 * whose restriction is ignored would have more rights than its client meant.
 */
export function refuseUnknownSandboxMembers(schema: z.ZodMiniType, value: unknown): void {
  let expected = expectedBySchema.get(schema);
  if (expected === undefined) {
    expected = new ExpectedMembers([schema]);
    expectedBySchema.set(schema, expected);
  }
  check(expected, value);
}

const isSandboxMember = (name: string): boolean =>
  (name.charCodeAt(0) | LOWER_CASE) === FIRST_LETTER && name.slice(0, WORD.length).toLowerCase() === WORD;

const WORD = 'sandbox';
const FIRST_LETTER = WORD.charCodeAt(0);
const LOWER_CASE = 0x20;

function check(expected: ExpectedMembers, value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if (Array.isArray(value)) {
    const { element } = expected;
    if (element) for (const item of value) check(element, item);
    return;
  }
  const { members } = expected;
  if (!members) return; // a map, whose names are the client's
  for (const name of Object.keys(value)) {
    const member = members.get(name);
    if (member) check(member, (value as Record<string, unknown>)[name]);
    else if (isSandboxMember(name)) throw unknownMember(name);
  }
}

export function unknownMember(name: string): ExecError {
  return new ExecError(
    'invalidParams',
    `unknown field \`${name}\`: a sandbox that is not understood cannot be enforced`,
  );
}

/** The part of a schema's definition that names its inner schemas. */
interface SchemaDefinition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodMiniType>>;
  readonly element?: z.ZodMiniType;
  readonly innerType?: z.ZodMiniType;
  readonly options?: readonly z.ZodMiniType[];
  readonly in?: z.ZodMiniType;
}

/** The members that a value of one of several schemas may have, computed at the first use. */
class ExpectedMembers {
  readonly #shapes: readonly SchemaDefinition[];
  #members: ReadonlyMap<string, ExpectedMembers> | undefined | null = null;
  #element: ExpectedMembers | undefined | null = null;

  constructor(schemas: readonly z.ZodMiniType[]) {
    this.#shapes = schemas.flatMap(unwrapped);
  }

  /** The members of an object by name; undefined where no schema names any. */
  get members(): ReadonlyMap<string, ExpectedMembers> | undefined {
    if (this.#members !== null) return this.#members;
    const schemas = new Map<string, z.ZodMiniType[]>();
    const objects = this.#shapes.flatMap(({ shape }) => (shape ? [shape] : []));
    for (const [name, schema] of objects.flatMap(Object.entries<z.ZodMiniType>)) {
      schemas.set(name, [...(schemas.get(name) ?? []), schema]);
    }
    const expected = new Map([...schemas].map(([name, list]) => [name, new ExpectedMembers(list)]));
    this.#members = objects.length === 0 ? undefined : expected;
    return this.#members;
  }

  /** The elements of an array; undefined where no schema describes them. */
  get element(): ExpectedMembers | undefined {
    if (this.#element !== null) return this.#element;
    const elements = this.#shapes.flatMap(({ element }) => (element ? [element] : []));
    this.#element = elements.length === 0 ? undefined : new ExpectedMembers(elements);
    return this.#element;
  }
}

const expectedBySchema = new WeakMap<z.ZodMiniType, ExpectedMembers>();

/** The shapes a value may have on the wire: alternatives and optional values without their wrapping. */
function unwrapped(schema: z.ZodMiniType): SchemaDefinition[] {
  const definition = schema._zod.def as unknown as SchemaDefinition;
  const within = [definition.innerType, definition.in, ...(definition.options ?? [])].filter(
    (inner) => inner !== undefined,
  );
  return within.length > 0 ? within.flatMap(unwrapped) : [definition];
}
