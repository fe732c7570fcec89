import { AccessTokens, readTokenFile } from '../access/index.ts';
import type { Logger } from '../base/index.ts';
import { ownClientTokens, secretPaths } from '../host/own/index.ts';

/** The tokens of a file, for as long as a server uses them. */
export class TokenSource {
  readonly path: string;
  readonly tokens: AccessTokens;

  /** Throws an error that names the file and the fix if it cannot be used. */
  constructor(path: string) {
    this.path = path;
    secretPaths.add(path, `${path}.new`);
    this.tokens = new AccessTokens(readRegistered(path));
  }

  /** Reads the file again. One that cannot be used leaves the tokens as they are; those that expire do so all the same. */
  reload(log: Logger): void {
    const { path } = this;
    try {
      const tokens = readRegistered(path);
      this.tokens.replace(tokens);
      log.info('tokens.reloaded', { path, count: tokens.length });
    } catch (error) {
      const { message } = error as Error;
      this.tokens.keep(message);
      log.error('tokens.not_reloaded', { error: message, kept: 'the old ones' });
    }
  }
}

/** Registered tokens are kept out of the environment of commands. */
function readRegistered(path: string): ReturnType<typeof readTokenFile> {
  const tokens = readTokenFile(path);
  ownClientTokens(tokens.map(({ sha256 }) => sha256));
  return tokens;
}
