import {
  type EnvironmentInfo,
  type EnvPolicy,
  ExecError,
  type Params,
  PathUri,
  type ProcessIo,
  type Sandbox,
  type StartNetwork,
} from '../protocol/index.ts';
import { UnsupportedError } from './errors.ts';
import { inheritedEnvironment } from './inherited-environment.ts';

type DirectStart = Extract<Params<'process/start'>, { argv: string[] }>;

/** A command to run; only `argv` is necessary. */
export interface StartOptions
  extends Partial<
    Pick<
      DirectStart,
      'metadata' | 'shellSnapshot' | 'enforceManagedNetwork' | 'managedNetwork' | 'networkProxy' | 'cwdIdentity'
    >
  > {
  /** The server computes the environment; the other form is `PreparedStartOptions`. */
  readonly mode?: 'direct';
  readonly argv: readonly string[];
  /** A native absolute path or a `file:` URI; by default the server's own directory. */
  readonly cwd?: string | PathUri;
  /** Without `envPolicy` this is the whole environment of the command. */
  readonly env?: Readonly<Record<string, string>>;
  readonly envPolicy?: EnvPolicy;
  /** Run in a terminal. */
  readonly tty?: boolean;
  /** Keep stdin writable when there is no terminal. */
  readonly pipeStdin?: boolean;
  /** `tty` and `pipeStdin` in one value, with the size of the terminal; servers without the extension use 24 by 80. */
  readonly io?: ProcessIo;
  /** The command's `argv[0]`. */
  readonly arg0?: string;
  readonly sandbox?: Sandbox;
  /**
   * The network of a sandboxed command, instead of what the profile says: none; `loopback`, which the session's commands share; the
   * host's; or the named hosts alone. Only for servers with the capability `sessionNetwork`.
   */
  readonly network?: StartNetwork;
  /** By default a random id. */
  readonly processId?: string;
  /** The server ends the command and all its descendants when it still runs after so long, also while this client is not connected. */
  readonly timeoutMs?: number;
  /** Sends SIGTERM first, and SIGKILL so much later. */
  readonly graceMs?: number;
  /**
   * With `pull` the output is fetched as it is read: a slow reader holds up this command alone. With `push`, which is faster, a reader
   * that falls behind holds up the connection.
   */
  readonly delivery?: 'push' | 'pull';
  /** The user to run as, by name or as `UID:GID`; the server's operator says whom it allows. */
  readonly user?: string;
  /** What the command and its descendants may use; `limitsEnforcedBy` of the process tells how. */
  readonly limits?: NonNullable<DirectStart['limits']>;
}

/** A request that the server spawns unchanged: it adds no variable, and searches for the program in the PATH of `env`. */
export interface PreparedStartOptions
  extends Omit<StartOptions, 'mode' | 'argv' | 'cwd' | 'env' | 'envPolicy' | 'arg0' | 'shellSnapshot'> {
  readonly mode: 'prepared';
  readonly request: {
    readonly argv: readonly string[];
    readonly cwd: string | PathUri;
    /** The whole environment of the command. */
    readonly env: Readonly<Record<string, string>>;
    readonly arg0?: string;
  };
}

/** The parameters of `process/start`. For a server that takes only prepared starts, a direct one is made into one. */
export function startParams(
  options: StartOptions | PreparedStartOptions,
  info: EnvironmentInfo | undefined,
): Params<'process/start'> {
  if (options.mode === 'prepared') {
    const { processId, tty, pipeStdin, io, request, ...rest } = options;
    const { argv, cwd, env, arg0 } = request;
    return {
      ...rest,
      ...wiring(options),
      request: { argv: [...argv], cwd: directory(cwd), env: { ...env }, ...(arg0 !== undefined && { arg0 }) },
    };
  }
  const params = directParams(options, info);
  return info?.capabilities?.processStartDirect === false ? preparedParams(params, info) : params;
}

/** Throws for a member that the server does not know, and would ignore. */
export function requireStartCapabilities(
  params: Params<'process/start'>,
  supports: (capability: string) => boolean,
): void {
  for (const { what, capability, isUsed } of extensions) {
    if (isUsed(params) && !supports(capability)) throw new UnsupportedError(what, capability);
  }
}

const extensions: readonly {
  readonly what: string;
  readonly capability: string;
  readonly isUsed: (params: Params<'process/start'>) => boolean;
}[] = [
  { what: 'end a command in time', capability: 'processTimeout', isUsed: ({ timeoutMs }) => timeoutMs != null },
  { what: 'choose the network of a command', capability: 'sessionNetwork', isUsed: ({ network }) => network != null },
  { what: 'keep output until it is fetched', capability: 'processPull', isUsed: ({ delivery }) => delivery === 'pull' },
  {
    what: 'write stderr to the pipe of stdout',
    capability: 'processMerged',
    isUsed: ({ io }) => io?.type === 'pipe' && io.stderr === 'stdout',
  },
  { what: 'run a command as another user', capability: 'processUser', isUsed: ({ user }) => user != null },
  { what: 'limit what a command uses', capability: 'processLimits', isUsed: ({ limits }) => limits != null },
];

function directParams(options: StartOptions, info: EnvironmentInfo | undefined): DirectStart {
  const { cwd, tty, pipeStdin, io, processId, argv, env, mode, ...rest } = options;
  return {
    ...rest,
    ...wiring(options),
    argv: [...argv],
    cwd: directory(cwd ?? info?.cwd),
    env: { ...env },
  };
}

function wiring({ processId, io, tty, pipeStdin }: Pick<StartOptions, 'processId' | 'io' | 'tty' | 'pipeStdin'>) {
  return {
    processId: processId ?? crypto.randomUUID(),
    tty: io ? io.type === 'pty' : (tty ?? false),
    pipeStdin: io ? io.type === 'pipe' && io.stdin === 'open' : (pipeStdin ?? false),
    ...(io && { io }),
  };
}

/** The prepared form of a direct start, with an environment that the client computes. */
function preparedParams(direct: DirectStart, info: EnvironmentInfo): Params<'process/start'> {
  const { argv, cwd, env, envPolicy, arg0, mode, ...rest } = direct;
  return {
    ...rest,
    mode: 'prepared',
    request: { argv, cwd, env: { ...inheritedEnvironment(info, envPolicy), ...env }, ...(arg0 != null && { arg0 }) },
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
