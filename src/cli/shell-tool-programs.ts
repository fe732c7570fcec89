import { accessSync, constants } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Interception, type ShellPrograms, tryInterception } from '../agent/escalation/index.ts';
import { nativeFile } from '../host/os/index.ts';
import { UsageError } from './usage-error.ts';

export interface ProgramValues {
  readonly intercept?: string | undefined;
  readonly bash?: string | undefined;
  readonly execve?: string | undefined;
}

/** An unpatched Bash, which is enough when the kernel reports execs. */
export const BASH = '/bin/bash';

/** Chooses the programs that run scripts. Throws unless a trial shows that they intercept execs. */
export async function chooseShellPrograms(
  { intercept = 'auto', bash: given, execve }: ProgramValues,
  env: NodeJS.ProcessEnv,
): Promise<ShellPrograms> {
  const named = given ?? (env.CODEX_BASH_PATH || undefined);
  const wrapper = resolve(execve ?? nativeFile('execve-wrapper'));
  const byKernel = (): ShellPrograms => ({ intercept: 'all', bash: resolve(named ?? BASH), wrapper });
  const byBash = (): ShellPrograms => ({ intercept: 'bash', bash: resolve(anyPatchedBash(named)), wrapper });
  switch (intercept) {
    case 'all':
      return requireInterception(byKernel());
    case 'bash':
      return requireInterception(byBash());
    case 'auto':
      return (await tryInterception(byKernel())).usable ? byKernel() : requireInterception(byBash());
    default:
      throw new UsageError(`invalid value '${intercept}' for --intercept: expected all, bash or auto`);
  }
}

/** The patched Bash that was built with this program, if any. */
export function builtBash(): string | undefined {
  const path = join(dirname(dirname(nativeFile('exec-broker'))), 'bash', 'bash');
  return isExecutable(path) ? path : undefined;
}

function anyPatchedBash(named: string | undefined): string {
  const path = named ?? builtBash();
  if (path !== undefined) return path;
  throw new Error(
    'a patched Bash is needed: name it by --bash or CODEX_BASH_PATH, or build it with npm run build:bash',
  );
}

async function requireInterception(programs: ShellPrograms): Promise<ShellPrograms> {
  const { intercept, bash, wrapper } = programs;
  for (const program of intercept === 'bash' ? [bash, wrapper] : [bash]) {
    const option = program === bash ? '--bash or CODEX_BASH_PATH' : '--execve';
    if (!isExecutable(program)) throw new Error(`${program} cannot be executed; name another program by ${option}`);
  }
  const trial = await tryInterception(programs);
  if (trial.usable) return programs;
  throw new Error(`--intercept=${intercept} does not work with ${bash}: ${trial.reason}; ${remedies[intercept]}`);
}

const remedies: Readonly<Record<Interception, string>> = {
  all: 'use Linux 5.9 or newer without a ban on ptrace, or --intercept=bash',
  bash: 'use a patched Bash, which npm run build:bash makes, or --intercept=all',
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing, or not executable
  }
}
