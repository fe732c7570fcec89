import type * as z from 'zod/mini';
import { ExecError } from './errors.ts';

/**
 * Refuses members whose name begins with `sandbox` and that no schema knows, at every level the schemas describe. Other
 * unknown members are ignored, as the reference ignores them; one of these may be a restriction, and a request whose
 * restriction is ignored runs with more rights than its client meant.
 */
export function refuseUnknownSandboxMembers(schema: z.ZodMiniType, value: unknown): void {
  check(new Set([schema]), value);
}

export const isSandboxMember = (name: string): boolean => /^sandbox/i.test(name);

function check(schemas: ReadonlySet<z.ZodMiniType>, value: unknown): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  const shapes = [...schemas].flatMap(unwrapped);
  if (Array.isArray(value)) {
    const elements = new Set(shapes.flatMap(({ element }) => (element ? [element] : [])));
    if (elements.size > 0) for (const item of value) check(elements, item);
    return;
  }
  const objects = shapes.flatMap(({ shape }) => (shape ? [shape] : []));
  if (objects.length === 0) return; // a map, whose names are the client's
  for (const [name, member] of Object.entries(value)) {
    const known = objects.flatMap((shape) => (Object.hasOwn(shape, name) ? [shape[name]!] : []));
    if (known.length > 0) check(new Set(known), member);
    else if (isSandboxMember(name)) throw unknownMember(name);
  }
}

export function unknownMember(name: string): ExecError {
  return new ExecError(
    'invalidParams',
    `unknown field \`${name}\`: a sandbox that is not understood cannot be enforced`,
  );
}

/** The part of a schema's definition that says what is inside. */
interface Inside {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodMiniType>>;
  readonly element?: z.ZodMiniType;
  readonly innerType?: z.ZodMiniType;
  readonly options?: readonly z.ZodMiniType[];
  readonly in?: z.ZodMiniType;
}

/** What a value may look like on the wire: alternatives and optional values without their wrapping. */
function unwrapped(schema: z.ZodMiniType): Inside[] {
  const inside = schema._zod.def as unknown as Inside;
  const within = [inside.innerType, inside.in, ...(inside.options ?? [])].filter((inner) => inner !== undefined);
  return within.length > 0 ? within.flatMap(unwrapped) : [inside];
}
