import { posix } from 'node:path';
import { memberOf, type Step } from './step.ts';

/** Methods that change files, and the members that say which. */
const mutating: Readonly<Record<string, readonly string[]>> = {
  'fs/writeFile': ['path'],
  'fs/createDirectory': ['path'],
  'fs/remove': ['path'],
  'fs/copy': ['sourcePath', 'destinationPath'],
  'fs/open': ['path'],
};

/**
 * Whether a step changes nothing outside the scratch directory of its sequence and connects to the test's own server alone,
 * however a server reads it. The servers run behind a read-only root besides.
 */
export function isGuarded(step: Step, scratch: string, upstream: string): boolean {
  if (step.kind !== 'call') return true;
  if (step.method === 'http/request') return leadsTo(memberOf(step.params, 'url'), upstream);
  return (mutating[step.method] ?? []).every((name) => isInside(memberOf(step.params, name), scratch));
}

function leadsTo(url: unknown, upstream: string): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return true; // refused by every server
  const { protocol, hostname, port } = new URL(url);
  if (!/^https?:$/.test(protocol)) return true;
  return hostname === '127.0.0.1' && ['0', new URL(upstream).port].includes(port);
}

function isInside(path: unknown, scratch: string): boolean {
  if (typeof path !== 'string') return true; // refused by every server
  const readings = [
    decoded(
      path
        .trim()
        .replace(/^file:/i, '')
        .replaceAll('\\', '/')
        .replace(/^\/\/localhost/, ''),
    ),
  ];
  if (URL.canParse(path)) {
    const { protocol, host, pathname } = new URL(path);
    if (protocol !== 'file:' || host !== '') return true; // of another machine
    readings.push(decoded(pathname));
  } else if (!path.includes('/')) return true; // no path at all
  return readings.every((reading) => {
    const native = posix.normalize(`/${reading}`).replace(/^\/+/, '/');
    return native.startsWith(`${scratch}/`) && native.length > scratch.length + 1;
  });
}

/** Percent signs that are followed by two digits decoded, byte by byte. */
export const decoded = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
