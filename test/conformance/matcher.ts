import { isObject, type Json, type JsonObject, objectAt } from './json.ts';
import type { Placeholders } from './placeholders.ts';

/** Each function here answers with the first difference in words, or with nothing when there is none. */
export type Difference = string | undefined;

/** Texts that come from a decoder or a transport: what follows the captured beginning is the server's own wording. */
const ownWording = [
  /^()missing field /,
  /^()invalid type: /,
  /^()invalid number/,
  /^()invalid character: /,
  /^()unknown variant /,
  /^()Invalid (?:symbol|padding)/,
  /^()invalid URI: /,
  /^(failed to parse websocket JSON-RPC message from exec-server websocket [^ ]+: )/,
  /^(failed to parse JSON-RPC message from exec-server stdio: )/,
  /^(fs\/writeFile requires valid base64 dataBase64: )/,
  /^(http\/request (?:method|url|header name) is invalid: )/,
  /^(http\/request header value is invalid for [^ ]+: )/,
  /^(http\/request failed: )/,
];

/** Response headers that depend on the HTTP library in between. */
const hopHeaders = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);

const show = (value: Json | undefined) => JSON.stringify(value)?.slice(0, 400) ?? 'nothing';

/** Compares at every depth; the actual value may have more members than the recorded one, never fewer. */
export function compare(expected: Json, actual: Json | undefined, known: Placeholders, at: string): Difference {
  const differs = `${at}: expected ${show(expected)}, got ${show(actual)}`;
  if (expected === '<ms>') return Number.isInteger(actual) ? undefined : differs;
  if (expected === '<environmentInfo>') return isObject(actual) ? undefined : differs;
  if (typeof expected === 'string') {
    return typeof actual === 'string' && known.match(expected, actual) ? undefined : differs;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return differs;
    return first(expected, (item, index) => compare(item, actual[index], known, `${at}[${index}]`));
  }
  if (!isObject(expected)) return expected === actual ? undefined : differs;
  if (!isObject(actual)) return differs;
  return first(Object.entries(expected), ([name, item]) => compare(item, actual[name], known, `${at}.${name}`));
}

/** Compares an answer to a request for `method`: the envelope, then the error or the result. */
export function compareAnswer(
  method: string | undefined,
  expected: JsonObject,
  actual: JsonObject,
  known: Placeholders,
): Difference {
  const kind = 'error' in expected ? 'error' : 'result';
  const members = Object.keys(actual).sort().join();
  if (members !== ['id', kind].sort().join()) return `expected an ${kind} ${show(expected)}, got ${show(actual)}`;
  if (kind === 'error') return compareError(objectAt(expected, 'error'), objectAt(actual, 'error'), known);
  return compareResult(method, expected.result ?? null, actual.result, known);
}

function compareError(expected: JsonObject, actual: JsonObject, known: Placeholders): Difference {
  if (actual.code !== expected.code) return `error: expected ${show(expected)}, got ${show(actual)}`;
  const message = String(expected.message);
  const beginning = ownWording.map((pattern) => pattern.exec(message)?.[1]).find((text) => text !== undefined);
  const wanted = beginning === undefined ? message : `${beginning}<any>`;
  return compare(wanted, actual.message, known, 'error.message');
}

function compareResult(
  method: string | undefined,
  expected: Json,
  actual: Json | undefined,
  known: Placeholders,
): Difference {
  if (!isObject(expected) || !isObject(actual)) return compare(expected, actual, known, 'result');
  switch (method) {
    case 'initialize':
      if (!isObject(expected.environmentInfo)) break;
      return (
        compare(String(expected.sessionId), actual.sessionId, known, 'sessionId') ??
        compareEnvironment(expected.environmentInfo, actual.environmentInfo, known)
      );
    case 'environment/info':
      return compareEnvironment(expected, actual, known);
    case 'fs/readDirectory':
      return compare(byFileName(expected), byFileName(actual), known, 'result');
    case 'fs/getMetadata':
      if (expected.isDirectory !== true) break;
      return compare({ ...expected, size: '<ms>' }, actual, known, 'result');
    case 'http/request':
      return compare(withoutHopHeaders(expected), withoutHopHeaders(actual), known, 'result');
  }
  return compare(expected, actual, known, 'result');
}

/** What the host and the implementation decide is compared by name and type, the rest by value. */
function compareEnvironment(expected: JsonObject, actual: Json | undefined, known: Placeholders): Difference {
  if (!isObject(actual)) return `environmentInfo: expected an object, got ${show(actual)}`;
  const { shell, executorVersion, prependPathDirs, capabilities, ...byValue } = expected;
  return (
    compare(byValue, actual, known, 'environmentInfo') ??
    sameTypes({ shell, executorVersion, capabilities } as JsonObject, actual, 'environmentInfo') ??
    fileUris(actual.prependPathDirs)
  );
}

function sameTypes(expected: Json, actual: Json | undefined, at: string): Difference {
  if (isObject(expected) && isObject(actual)) {
    return first(Object.entries(expected), ([name, item]) => sameTypes(item, actual[name], `${at}.${name}`));
  }
  return typeof expected === typeof actual ? undefined : `${at}: expected a ${typeof expected}, got ${show(actual)}`;
}

function fileUris(value: Json | undefined): Difference {
  const fits = Array.isArray(value) && value.every((item) => typeof item === 'string' && item.startsWith('file:///'));
  return fits ? undefined : `environmentInfo.prependPathDirs: expected file URIs, got ${show(value)}`;
}

function byFileName(result: JsonObject): JsonObject {
  const entries = Array.isArray(result.entries) ? result.entries.filter(isObject) : [];
  const name = (entry: JsonObject) => String(entry.fileName);
  return { ...result, entries: entries.sort((a, b) => (name(a) < name(b) ? -1 : 1)) };
}

function withoutHopHeaders(result: JsonObject): JsonObject {
  const headers = Array.isArray(result.headers) ? result.headers.filter(isObject) : [];
  return { ...result, headers: headers.filter((header) => !hopHeaders.has(String(header.name))) };
}

export function first<Item>(items: Item[], check: (item: Item, index: number) => Difference): Difference {
  for (const [index, item] of items.entries()) {
    const difference = check(item, index);
    if (difference !== undefined) return difference;
  }
  return undefined;
}
