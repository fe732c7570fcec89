import { PathUri } from '../../../protocol/index.ts';

/** The URI of an absolute path of any machine, Windows included. */
export function pathUri(path: string): PathUri {
  return /^[A-Za-z]:[\\/]/.test(path) ? PathUri.parse(`file:///${path.replaceAll('\\', '/')}`) : PathUri.parse(path);
}
