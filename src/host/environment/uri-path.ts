import { PathUri } from '../../protocol/index.ts';

/** The URI of the directory around a path; undefined for the root. */
export function parentOf(href: string): string | undefined {
  const parent = new URL('.', href.replace(/\/+$/, '')).href.replace(/(?<=[^/])\/$/, '');
  return parent === href ? undefined : parent;
}

/** The last segment as text. */
export function nameOf(href: string): string {
  const segment = href.slice(href.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // not UTF-8: shown as it is
  }
}

/** The URI of a path below another. */
export function below(href: string, relative: string): PathUri {
  const escaped = relative.replace(/[%?#\\]/g, encodeURIComponent);
  return PathUri.parse(`${href.replace(/\/$/, '')}/${escaped}`);
}
