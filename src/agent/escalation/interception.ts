import { silentLogger } from '../../base/index.ts';
import { killFamily, nextOwnMark, PROCESS_MASK } from '../../host/os/index.ts';
import { Broker } from './broker.ts';
import { type ShellPrograms, WRAPPER_SOCKET, wrapperVariables } from './shell-launch.ts';

export type InterceptionTrial = { readonly usable: true } | { readonly usable: false; readonly reason: string };

const PATIENCE_MS = 10_000;

/**
 * Tries interception with a real shell and a real command, which is started outside: a Bash that is not patched, or a kernel
 * without the feature, would run every command without a question.
 */
export async function tryInterception(programs: ShellPrograms): Promise<InterceptionTrial> {
  const mark = nextOwnMark('trials');
  try {
    await using broker = Broker.start({ mark, log: silentLogger });
    const patience = setTimeout(() => void broker[Symbol.asyncDispose](), PATIENCE_MS);
    try {
      return await runTrial(broker, programs);
    } finally {
      clearTimeout(patience);
    }
  } catch (error) {
    return { usable: false, reason: (error as Error).message };
  } finally {
    await killFamily(mark, PROCESS_MASK);
  }
}

async function runTrial(broker: Broker, programs: ShellPrograms): Promise<InterceptionTrial> {
  const { intercept, bash } = programs;
  await broker.shell({
    intercept,
    ...(intercept === 'bash' && { socket: WRAPPER_SOCKET }),
    shell: bash,
    file: bash,
    argv: [bash, '-c', "/bin/sh -c 'exit 7'; exit $?"],
    cwd: '/',
    env: wrapperVariables(programs),
    inherited: 0,
  });
  let reason = 'its execs are not reported';
  let isUsable = false;
  for await (const event of broker.events()) {
    if (event.type === 'failed' || event.type === 'unstarted') reason = `${event.step} fails (errno ${event.errno})`;
    if (event.type === 'asked') await broker.escalate(event.request.id, event.request.exact);
    if (event.type === 'finished') isUsable = 'code' in event.status && event.status.code === 7;
    if (event.type === 'failed' || event.type === 'exited') break;
  }
  return isUsable ? { usable: true } : { usable: false, reason };
}
