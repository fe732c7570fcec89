import { existsSync, readFileSync } from 'node:fs';
import { tryInterception } from '../agent/escalation/index.ts';
import {
  type ExitStatus,
  familyMark,
  killFamily,
  nativeFile,
  nativeStatus,
  ownServerNumber,
  PROCESS_MASK,
  spawn,
} from '../host/os/index.ts';
import { type AccessPolicy, confine, type SandboxHost } from '../host/sandbox/index.ts';
import { BASH, builtBash } from './shell-tool-programs.ts';

export interface Check {
  readonly name: string;
  /** `warning`: the server runs, but something that users may want does not work. */
  readonly verdict: 'ok' | 'warning' | 'missing';
  readonly finding: string;
  readonly remedy?: string;
}

/** Checks this machine by trying things out instead of reading version numbers. */
export async function examine(sandboxes: SandboxHost): Promise<Check[]> {
  const native = nativeAddon();
  return [
    nodeVersion(),
    native,
    ...(native.verdict === 'ok' ? [await processes(), await terminals(), await families()] : []),
    ...(native.verdict === 'ok' ? [...(await sandboxing(sandboxes)), await interceptions()] : []),
    account(),
    cgroups(),
  ];
}

async function sandboxing(sandboxes: SandboxHost): Promise<Check[]> {
  const commands = await sandboxedCommands(sandboxes);
  return commands.verdict === 'ok' ? [commands, await sessionNetworks(sandboxes)] : [commands];
}

function nodeVersion(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const name = 'Node.js';
  if (major > 20 || (major === 20 && minor >= 19)) return { name, verdict: 'ok', finding: process.version };
  return {
    name,
    verdict: 'missing',
    finding: `${process.version} is too old`,
    remedy: 'install Node.js 20.19 or newer',
  };
}

function nativeAddon(): Check {
  const name = 'native addon';
  const status = nativeStatus();
  if (status.ready) return { name, verdict: 'ok', finding: 'loads' };
  return { name, verdict: 'missing', finding: status.reason, remedy: 'run npm run build:native' };
}

async function processes(): Promise<Check> {
  return tryCommand('processes', { type: 'pipe', stdin: 'closed' }, 'commands run with pipes');
}

async function terminals(): Promise<Check> {
  return tryCommand(
    'terminals',
    { type: 'pty', rows: 24, cols: 80 },
    'commands run in a terminal',
    'mount devpts on /dev/pts',
  );
}

async function tryCommand(
  name: string,
  io: Parameters<typeof spawn>[0]['io'],
  finding: string,
  remedy = 'check that /bin/sh exists and that this account may start processes (ulimit -u)',
): Promise<Check> {
  try {
    await using child = spawn({ argv: ['/bin/sh', '-c', 'exit 7'], cwd: '/', env: {}, io, mark: 0n });
    const status = await child.exited;
    if ('code' in status && status.code === 7) return { name, verdict: 'ok', finding };
    return { name, verdict: 'missing', finding: `a test command ended with ${JSON.stringify(status)}`, remedy };
  } catch (error) {
    return { name, verdict: 'missing', finding: (error as Error).message, remedy };
  }
}

/** Starts a daemon as daemons start themselves, in a session of their own, and kills it by the mark of its family. */
async function families(): Promise<Check> {
  const name = 'ending process families';
  const mark = familyMark(ownServerNumber(), 0, 1);
  const argv = ['/bin/sh', '-c', 'setsid sleep 60 >/dev/null 2>&1 & sleep 60'];
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const child = spawn({ argv, cwd: '/', env, io: { type: 'pipe', stdin: 'closed' }, mark });
  const killed = await killFamily(mark, PROCESS_MASK);
  await child[Symbol.asyncDispose]();
  if (killed > 0) return { name, verdict: 'ok', finding: 'daemons of a command are found and ended' };
  return {
    name,
    verdict: 'warning',
    finding: 'the limit that marks a family (RLIMIT_RTTIME) is already set, so daemons of a command may outlive it',
    remedy: 'start the server with ulimit -R unlimited',
  };
}

/** Runs a command in a sandbox, which needs bubblewrap, user namespaces and seccomp filters at once. */
async function sandboxedCommands(host: SandboxHost): Promise<Check> {
  const name = 'sandboxed commands';
  const launcher = host.bubblewrap.tried();
  if (!launcher.usable) {
    const finding = `${launcher.reason}: sandboxed commands are refused`;
    return { name, verdict: 'warning', finding, remedy: launcher.remedy };
  }
  const remedy = 'use a kernel built with CONFIG_SECCOMP_FILTER, on x86-64 or arm64';
  try {
    const status = await tryConfined(host);
    if ('code' in status && status.code === 7) {
      const finding = launcher.proc
        ? `${launcher.path} works`
        : `${launcher.path} works, but sandboxed commands see the /proc of the host`;
      return { name, verdict: 'ok', finding };
    }
    return { name, verdict: 'warning', finding: `a test command ended with ${JSON.stringify(status)}`, remedy };
  } catch (error) {
    return { name, verdict: 'warning', finding: (error as Error).message, remedy };
  }
}

async function tryConfined(host: SandboxHost): Promise<ExitStatus> {
  const io = { type: 'pipe', stdin: 'closed' } as const;
  const confined = confine(host, { argv: ['/bin/sh', '-c', 'exit 7'], cwd: '/', env: {}, io }, READ_ONLY);
  using _ = confined.claim;
  await using child = spawn({ ...confined.command, mark: 0n });
  return await child.exited;
}

const READ_ONLY: AccessPolicy = {
  network: 'restricted',
  unrestricted: false,
  rules: [{ path: '/', access: 'read', skipMissing: false }],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
};

/** Makes a network as for a session, and a sandbox inside. */
async function sessionNetworks(host: SandboxHost): Promise<Check> {
  const name = 'networks of sessions';
  try {
    using _ = await host.networks.make(() => 0n);
    return { name, verdict: 'ok', finding: 'sandboxed commands can share a loopback (network: loopback)' };
  } catch (error) {
    const remedy = 'allow nested user namespaces; only commands with network: loopback need them';
    return { name, verdict: 'warning', finding: (error as Error).message, remedy };
  }
}

/** Tries both ways in which the shell tool intercepts programs before they start. */
async function interceptions(): Promise<Check> {
  const name = 'intercepted programs';
  const wrapper = nativeFile('execve-wrapper');
  const patched = builtBash();
  const byKernel = await tryInterception({ intercept: 'all', bash: BASH, wrapper });
  const byBash =
    patched === undefined ? undefined : await tryInterception({ intercept: 'bash', bash: patched, wrapper });
  const kernel = byKernel.usable ? 'the kernel reports them' : `the kernel does not report them (${byKernel.reason})`;
  const bash = byBash?.usable ? 'the patched Bash reports them' : 'no patched Bash reports them';
  if (byKernel.usable) return { name, verdict: 'ok', finding: byBash?.usable ? `${kernel}, and ${bash}` : kernel };
  if (byBash?.usable) return { name, verdict: 'ok', finding: `${kernel}; ${bash}` };
  const remedy = 'use Linux 5.9 or newer, or run npm run build:bash; only exec-server mcp --tools shell needs it';
  return { name, verdict: 'warning', finding: `${kernel}, and ${bash}`, remedy };
}

/** A sandboxed command of a server that runs as root keeps uid 0, without the capabilities of root. */
function account(): Check {
  const name = 'account';
  if (process.geteuid?.() !== 0) return { name, verdict: 'ok', finding: 'not root' };
  return {
    name,
    verdict: 'warning',
    finding: 'root: commands without a sandbox can do everything, sandboxed ones own the files of root',
    remedy: 'run the server as an ordinary user',
  };
}

/** Whether a limit of processors can be offered at all; whether it is depends on the group that the server is started in. */
function cgroups(): Check {
  const name = 'cgroup v2';
  const file = ['', '/unified'].map((below) => `/sys/fs/cgroup${below}/cgroup.controllers`).find(existsSync);
  const controllers = file === undefined ? [] : readFileSync(file, 'utf8').trim().split(' ');
  const finding = controllers.includes('cpu')
    ? `mounted, with ${controllers.join(', ')}; limits use it where it is delegated to the server`
    : 'no controllers; a start with limits: { cpus } is refused, nothing else needs them';
  return { name, verdict: 'ok', finding };
}
