import { codeOf, messageOf, param } from './outcome.ts';
import { linkedPlaceOf, missingDenied, placeOf } from './places.ts';
import type { Outcome } from './server-side.ts';
import { memberOf, type Step } from './step.ts';

export const isRefusedAsMissing = (ours: Outcome): boolean =>
  codeOf(ours) === -32004 || messageOf(ours) === 'Read-only file system (os error 30)';

/** What was found, without the empty files that stand for denied paths in a view of the reference, and links to them. */
export const withoutDenied = (result: unknown, step: Step, ours: Outcome): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_name, value: unknown) =>
    Array.isArray(value)
      ? value.filter((entry) => {
          const path = memberOf(entry, 'path') ?? `${placeOf(param(step, 'path'))}/${memberOf(entry, 'fileName')}`;
          const isFile = memberOf(entry, 'kind') === 'file' || memberOf(entry, 'isFile') === true;
          return !(isFile && missingDenied(step, ours).includes(linkedPlaceOf(String(path))));
        })
      : value,
  );

/** What was found, without the empty directories that stand for protected names in a view of the reference. */
export const withoutProtected = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_name, value: unknown) =>
    Array.isArray(value) ? value.filter((entry) => !isProtectedDirectory(entry)) : value,
  );

const isProtectedDirectory = (entry: unknown): boolean =>
  (memberOf(entry, 'isDirectory') === true || memberOf(entry, 'kind') === 'directory') &&
  /(?:^|\/)\.(?:git|agents|codex|aws)$/.test(String(memberOf(entry, 'fileName') ?? memberOf(entry, 'path')));

/** Whether a walk found nothing but what another found, in the same order. */
export function isPartOf(walk: unknown, other: unknown): boolean {
  const rest = [...((memberOf(other, 'entries') ?? []) as unknown[])].map((entry) => JSON.stringify(entry));
  const found = ((memberOf(walk, 'entries') ?? []) as unknown[]).map((entry) => rest.indexOf(JSON.stringify(entry)));
  return found.every((at, index) => at > (found[index - 1] ?? -1));
}

/** Walks with the usual spelling of every URI. */
export const spelledAlike = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith('file:')
      ? new URL(value.replaceAll(/%2f/gi, '/')).href.replaceAll('%65', 'e').replaceAll(/(?<!:|:\/)\/+/g, '/')
      : value,
  );

/** The information of our server with what the reference has and ours does not claim. */
export const withMore = (info: unknown): unknown =>
  JSON.parse(JSON.stringify(info), (key, value: unknown) =>
    /^credentialMasking|^linux(?:Approved)?RootWritePreserves/.test(key) ? true : value,
  );

/** An outcome without the headers that a connection or an empty body calls for, in the request that the server saw. */
export function withoutFraming({ result, body, ...rest }: Outcome): unknown {
  const head = JSON.parse(JSON.stringify(result ?? null)) as Record<string, unknown> | null;
  const text = Buffer.from(String(body ?? head?.bodyBase64 ?? ''), 'base64').toString();
  if (!head || !text.startsWith('{"method"')) return { result, body, ...rest };
  const seen = JSON.parse(text) as { headers: [string, string][] };
  const isFraming = ([name, value]: [string, string]) =>
    name === 'connection' || (name === 'content-length' && value === '0');
  const headers = (head.headers as { name: string }[]).filter(({ name }) => name !== 'content-length');
  return {
    status: head.status,
    headers,
    seen: { ...seen, headers: seen.headers.filter((header) => !isFraming(header)) },
    ...rest,
  };
}

/** How an empty directory that stands for a protected name is listed. */
export const MOUNT_POINT = /(?:^|\/)\.(?:git|agents|codex|aws)\/ 755$/;
