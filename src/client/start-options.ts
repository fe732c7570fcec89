import {
  type EnvironmentInfo,
  type EnvPolicy,
  ExecError,
  type Params,
  PathUri,
  type ProcessIo,
  type Sandbox,
} from '../protocol/index.ts';

type DirectStart = Extract<Params<'process/start'>, { argv: string[] }>;

/** A command to run; only `argv` is necessary. */
export interface StartOptions
  extends Partial<
    Pick<
      DirectStart,
      'metadata' | 'shellSnapshot' | 'enforceManagedNetwork' | 'managedNetwork' | 'networkProxy' | 'cwdIdentity'
    >
  > {
  readonly argv: readonly string[];
  /** A native absolute path or a `file:` URI; the server's own directory unless given. */
  readonly cwd?: string | PathUri;
  /** Without `envPolicy` this is the whole environment of the command. */
  readonly env?: Readonly<Record<string, string>>;
  readonly envPolicy?: EnvPolicy;
  /** Run in a terminal. */
  readonly tty?: boolean;
  /** Keep stdin writable when there is no terminal. */
  readonly pipeStdin?: boolean;
  /** The same two facts in one value, and the size of the terminal; servers without the extension use 24 by 80. */
  readonly io?: ProcessIo;
  /** What the command sees as its own name. */
  readonly arg0?: string;
  readonly sandbox?: Sandbox;
  /** A fresh random id unless given. */
  readonly processId?: string;
}

export function startParams(options: StartOptions, info: EnvironmentInfo | undefined): DirectStart {
  const { cwd, tty, pipeStdin, io, processId, argv, env, ...rest } = options;
  return {
    ...rest,
    processId: processId ?? crypto.randomUUID(),
    argv: [...argv],
    cwd: directory(cwd ?? info?.cwd),
    env: { ...env },
    tty: io ? io.type === 'pty' : (tty ?? false),
    pipeStdin: io ? io.type === 'pipe' && io.stdin === 'open' : (pipeStdin ?? false),
    ...(io && { io }),
  };
}

function directory(cwd: string | PathUri | null | undefined): PathUri {
  if (cwd instanceof PathUri) return cwd;
  if (typeof cwd === 'string') {
    if (/^(?:\/|file:)/i.test(cwd)) return PathUri.parse(cwd);
    throw new ExecError('invalidParams', `cwd: expected an absolute path or a file: URI, not '${cwd}'`);
  }
  throw new ExecError('invalidParams', 'cwd is missing, and the server does not tell its own directory');
}
