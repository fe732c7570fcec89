import { posix } from 'node:path';
import { decoded } from './guard.ts';
import { method, param } from './outcome.ts';
import type { Outcome } from './server-side.ts';
import { memberOf, type Step } from './step.ts';

/** The place a URI names in the layout of the scratch directory. */
export const placeOf = (uri: unknown): string =>
  posix
    .normalize(
      decoded(URL.canParse(String(uri)) ? new URL(String(uri)).pathname : String(uri))
        .replaceAll(/\/+/g, '/')
        .replace(/\/link(?=\/)/, '/folder'),
    )
    .replace(/\/$/, '');

/** The place with the link of the layout followed, also at its end. */
export const linkedPlaceOf = (path: string): string => placeOf(path).replace(/\/link$/, '/folder');

/** What a URI names, as files are listed: empty for the scratch directory itself, undefined for places elsewhere. */
function nameOf(uri: unknown): string | undefined {
  const place = URL.canParse(String(uri)) ? placeOf(new URL(String(uri)).pathname) : '';
  const found = /^\/mnt\/w\/[^/]+(?:\/(.*))?$/.exec(place.replace(/\/link$/, '/folder'));
  return found ? (found[1] ?? '') : undefined;
}

/** Whether a URI names a directory among the files that were there after a step. */
export function isDirectory(uri: unknown, { files }: Outcome): boolean {
  const name = nameOf(uri);
  return name === '' || (files as string[]).some((file) => file.startsWith(`${name}/ `));
}

/** Whether a URI names an empty directory. */
const isEmptyDirectory = (uri: unknown, ours: Outcome): boolean =>
  isDirectory(uri, ours) && (ours.files as string[]).filter((file) => file.startsWith(`${nameOf(uri)}/`)).length === 1;

/** The paths that a file call is about. */
export const paths = (step: Step): string[] =>
  [param(step, 'path'), param(step, 'sourcePath'), param(step, 'destinationPath')]
    .filter((path) => path !== undefined)
    .map(String);

/** The entries of a sandbox, if it has a list of them. */
export const entriesOf = (step: Step): unknown[] =>
  [param(step, 'sandbox', 'permissions', 'file_system', 'entries')].filter(Array.isArray).flat();

/** The places that a sandbox denies by their path. */
export const deniedPlaces = (step: Step): string[] =>
  entriesOf(step)
    .filter((entry) => /^(?:deny|none)$/.test(String(memberOf(entry, 'access'))))
    .map((entry) => placeOf(memberOf(entry, 'path', 'path')));

/** The places that a sandbox makes writable as a whole. */
export function writableRoots(step: Step): string[] {
  const roots = [param(step, 'sandbox', 'workspaceRoots') ?? param(step, 'sandbox', 'cwd')].flat();
  return entriesOf(step)
    .filter((entry) => memberOf(entry, 'access') === 'write')
    .flatMap((entry) => {
      const subpath = memberOf(entry, 'path', 'value', 'subpath');
      const path = memberOf(entry, 'path', 'path');
      return path === undefined ? roots.map((root) => (subpath === undefined ? root : `${root}/${subpath}`)) : [path];
    })
    .map(placeOf);
}

/** The denied places that do not exist. */
export const missingDenied = (step: Step, { files }: Outcome): string[] =>
  deniedPlaces(step).filter((place) => {
    const name = /^\/mnt\/w\/[^/]+\/(.+)$/.exec(place)?.[1];
    return (
      name !== undefined &&
      !(files as string[]).some((file) => file.startsWith(name) && /^\/? /.test(file.slice(name.length)))
    );
  });

export const isInMissingDenied = (path: string, step: Step, ours: Outcome): boolean =>
  missingDenied(step, ours).some((place) => `${linkedPlaceOf(path)}/`.startsWith(`${place}/`));

/** Whether a path ends in a name that sandboxes protect. */
export const isProtectedPath = (path: unknown): boolean => /\/\.(?:git|codex)[/.]*$/.test(String(path));

/** Whether a call makes an empty directory of a protected name, which the view of the reference already has. */
export const createsProtected = (step: Step, ours: Outcome): boolean =>
  (method(step) === 'fs/createDirectory' &&
    param(step, 'recursive') !== false &&
    isProtectedPath(param(step, 'path'))) ||
  (method(step) === 'fs/copy' &&
    param(step, 'recursive') === true &&
    isEmptyDirectory(param(step, 'sourcePath'), ours) &&
    isProtectedPath(param(step, 'destinationPath')));
