import { decodeBase64 } from '../base/index.ts';
import { decode, type FileMethod, isSandboxMember, PathUri, type Sandbox, sandbox } from '../protocol/index.ts';

interface Field {
  readonly name: string;
  readonly kind: 'path' | 'bytes' | 'flag' | 'sandbox';
  /** Whether it may be absent or `null`. */
  readonly optional: boolean;
}

const path: Field = { name: 'path', kind: 'path', optional: false };
const context: Field = { name: 'sandbox', kind: 'sandbox', optional: true };
const option = (name: string): Field => ({ name, kind: 'flag', optional: true });

const place = [path, context];
const followed = [...place, option('followSymlinks')];

/** The methods a client calls most, none of whose parameters says anything about another. */
const shapes: { readonly [M in FileMethod]?: readonly Field[] } = {
  'fs/readFile': followed,
  'fs/getMetadata': [...followed, option('identity')],
  'fs/writeFile': [...followed, { name: 'dataBase64', kind: 'bytes', optional: false }],
  'fs/createDirectory': [...followed, option('recursive')],
  'fs/remove': [...followed, option('recursive'), option('force')],
  'fs/canonicalize': place,
  'fs/readDirectory': place,
  'fs/copy': [
    { ...path, name: 'sourcePath' },
    { ...path, name: 'destinationPath' },
    { ...option('recursive'), optional: false },
    context,
  ],
};

/** Decodes what needs no explanation, several times faster than the schemas, which explain the rest. */
export class FileParams {
  readonly #sandboxes = new Map<string, Sandbox>();

  /** What the schema of the method gives; undefined if the schema has to be asked. */
  decode(method: string, wire: unknown): Record<string, unknown> | undefined {
    const shape = Object.hasOwn(shapes, method) ? shapes[method as FileMethod] : undefined;
    if (!shape || typeof wire !== 'object' || wire === null || Array.isArray(wire)) return undefined;
    for (const name in wire) if (isSandboxMember(name) && name !== 'sandbox') return undefined;
    const params: Record<string, unknown> = {};
    try {
      for (const { name, kind, optional } of shape) {
        const value = (wire as Record<string, unknown>)[name];
        if (optional && value === undefined) continue;
        params[name] = optional && value === null ? null : this.#decode(kind, value);
      }
      return params;
    } catch {
      return undefined; // the schema says what is wrong
    }
  }

  #decode(kind: Field['kind'], value: unknown): unknown {
    if (kind === 'path' && typeof value === 'string') return PathUri.parse(value);
    if (kind === 'sandbox') return this.#sandbox(value);
    if (kind === 'flag' && typeof value === 'boolean') return value;
    if (kind === 'bytes' && value instanceof Uint8Array) return value;
    if (kind === 'bytes' && typeof value === 'string') return decodeBase64(value);
    throw odd;
  }

  /** Equal ones are one object: what is found out about it can be kept with it. */
  #sandbox(wire: unknown): Sandbox {
    const text = JSON.stringify(wire);
    const known = this.#sandboxes.get(text);
    if (known) return known;
    const decoded = decode(sandbox, wire);
    // Numbers too large for JSON look like `null` in the text; these are all there are.
    if (text.length > LONGEST_TEXT || text.includes('glob_scan_max_depth')) return decoded;
    if (this.#sandboxes.size >= MOST_SANDBOXES) this.#sandboxes.delete(this.#sandboxes.keys().next().value!);
    this.#sandboxes.set(text, decoded);
    return decoded;
  }
}

/** Never seen: whoever catches it asks the schema. */
const odd = new Error('not the usual shape');

/** A client has a handful, each of a few hundred bytes. */
const MOST_SANDBOXES = 16;
const LONGEST_TEXT = 16 * 1024;
