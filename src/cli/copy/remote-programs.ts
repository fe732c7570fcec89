import type { ExecServerClient, RemoteProcess, StartOptions } from '../../client/index.ts';

type EnvPolicy = NonNullable<StartOptions['envPolicy']>;

/** Runs small programs on the server of a copy. */
export class RemotePrograms {
  readonly #client: ExecServerClient;

  constructor(client: ExecServerClient) {
    this.#client = client;
  }

  async start(argv: readonly string[]): Promise<RemoteProcess> {
    try {
      return await this.#client.start({ argv, env: { LC_ALL: 'C' }, envPolicy });
    } catch (error) {
      throw new Error(`cannot run ${argv[0]} on the server: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Runs a program that must succeed; gives its stdout. */
  async output(argv: readonly string[]): Promise<string> {
    const process = await this.start(argv);
    const { stdout, stderr, exitCode } = await process.communicate();
    if (exitCode !== 0) throw new Error(Buffer.from(stderr).toString().trim() || `${argv[0]} ended with ${exitCode}`);
    return Buffer.from(stdout).toString();
  }
}

const envPolicy: EnvPolicy = { inherit: 'core', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] };
