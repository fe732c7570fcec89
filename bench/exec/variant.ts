import { Broker, type BrokerEvent, type SeenAnswer } from '../../src/agent/escalation/index.ts';
import { type Child, decodeBase64Part, familyMark, spawn } from '../../src/host/os/index.ts';

/** One way of starting programs from a shell. */
export interface Variant {
  readonly name: string;
  /** Absent for plain Bash, which asks about no program. */
  readonly interception?: {
    readonly by: 'wrapper' | 'kernel';
    readonly wrapper?: string;
    /** `pass` lets a program run and all others like it. */
    readonly answer: 'run' | 'pass' | 'escalate' | 'deny';
  };
}

/** What a shell did before it ended. */
export interface Ran {
  readonly stdout: string;
  /** Questions that were answered. */
  readonly asked: number;
}

/** The number of the wrappers' socket in the shell. */
const SOCKET = 200;

const environment = { PATH: '/usr/local/bin:/usr/bin:/bin' };
let marks = 0;

/** A mark that belongs to this benchmark. */
const freshMark = (): bigint => familyMark(process.pid, 0, marks++);

/** Runs a script to its end; rejects when it is stopped before. */
export async function runScript(bash: string, script: string, variant: Variant, signal: AbortSignal): Promise<Ran> {
  return variant.interception
    ? await runAsked(bash, script, variant.interception, signal)
    : await runPlain(bash, script, signal);
}

async function runPlain(bash: string, script: string, signal: AbortSignal): Promise<Ran> {
  const io = { type: 'pipe', stdin: 'closed' } as const;
  await using child: Child = spawn({
    argv: [bash, '-c', script],
    cwd: '/',
    env: environment,
    io,
    mark: freshMark(),
  });
  const kill = () => void child[Symbol.asyncDispose]();
  signal.addEventListener('abort', kill);
  let stdout = '';
  for await (const event of child.events) {
    if (event.type !== 'output' || event.stream !== 'stdout') continue;
    const { buffer, start, end } = event.chunk;
    stdout += decodeBase64Part(buffer, start, end);
  }
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  return { stdout, asked: 0 };
}

async function runAsked(
  bash: string,
  script: string,
  { by, wrapper = '', answer }: NonNullable<Variant['interception']>,
  signal: AbortSignal,
): Promise<Ran> {
  let asked = 0;
  const answerSeen = (): SeenAnswer => {
    if (answer !== 'run' && answer !== 'pass') return 'inspect';
    asked += 1;
    return answer === 'pass' ? 'allow-path' : 'run';
  };
  await using broker = Broker.start({ mark: freshMark(), answerSeen });
  const kill = () => void broker.kill();
  signal.addEventListener('abort', kill);
  const byWrapper = by === 'wrapper';
  void broker.shell({
    intercept: byWrapper ? 'bash' : 'all',
    ...(byWrapper && { socket: SOCKET }),
    shell: bash,
    file: bash,
    argv: [bash, '-c', script],
    cwd: '/',
    inherited: 0,
    env: byWrapper
      ? { ...environment, CODEX_ESCALATE_SOCKET: String(SOCKET), BASH_EXEC_WRAPPER: wrapper, EXEC_WRAPPER: wrapper }
      : environment,
  });
  let stdout = '';
  let open = 2;
  for await (const event of broker.events()) {
    if (event.type === 'output' && event.stream === 'stdout') stdout += event.bytes;
    if (event.type === 'failed') throw new Error(`the shell was not started: ${JSON.stringify(event)}`);
    if (event.type === 'ended') open -= 1;
    if (event.type === 'asked') {
      asked += 1;
      void reply(broker, event, answer);
    }
    if (open === 0) break;
  }
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  return { stdout, asked };
}

function reply(
  broker: Broker,
  { request }: Extract<BrokerEvent, { type: 'asked' }>,
  answer: NonNullable<Variant['interception']>['answer'],
): Promise<void> {
  switch (answer) {
    case 'run':
    case 'pass':
      return broker.run(request.id);
    case 'escalate':
      return broker.escalate(request.id, request.exact);
    case 'deny':
      return broker.deny(request.id, '');
  }
}
