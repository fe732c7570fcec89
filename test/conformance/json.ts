export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [member: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member as an object; an empty one when it is something else. */
export const objectAt = (value: Json | undefined, member: string): JsonObject => {
  const inner = isObject(value) ? value[member] : undefined;
  return isObject(inner) ? inner : {};
};

/** Integers beyond the reach of a double are kept as text, so that a rounded id cannot pass for the real one. */
export function parseJson(text: string): Json {
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\b\d{16,}\b(?![.eE])/g, (token) =>
    token.startsWith('"') ? token : `"integer ${token}"`,
  );
  return JSON.parse(exact) as Json;
}
