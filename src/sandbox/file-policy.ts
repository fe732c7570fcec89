import { closeSync } from 'node:fs';
import { type Child, familyMark, fileAnswer, killFamily, PROCESS_MASK, spawn } from '../os/index.ts';
import { ExecError, type PathUri, type Sandbox } from '../protocol/index.ts';
import { confineHelper } from './confine.ts';
import { expandGlobs } from './glob-scan.ts';
import { planMounts } from './mount-plan.ts';
import { hasFullRead, needsCwd, type Policy, resolvePolicy } from './policy.ts';
import { Refusal } from './refusal.ts';
import { Survey, type SurveyRecord } from './survey.ts';

/** How a filesystem call under a sandbox is carried out. */
export type FilePolicy =
  | { readonly kind: 'direct' }
  /** Directly, except for what resolves into procfs: there the server would show itself. */
  | { readonly kind: 'guardedRead' }
  /** By a helper inside the sandbox; calls with equal keys may share one. To be launched at once, or asked for again. */
  | { readonly kind: 'helper'; readonly key: string; launch(program: string): LaunchedHelper };

/** A helper, and our end of a socket that leads to it; whoever has it closes it. */
export interface LaunchedHelper {
  readonly child: Child;
  readonly channel: number;
}

export interface FilePolicyOptions {
  readonly mode: 'read' | 'write';
  /** The environment the server was started with. */
  readonly env: Readonly<Record<string, string>>;
}

interface Resolution {
  readonly env: FilePolicyOptions['env'];
  readonly policy: FilePolicy;
  /** What the policy was made from; undefined when that is too much to ask again. */
  readonly survey: SurveyRecord | undefined;
}

/** A client sends one sandbox with many calls, decoded once. */
const resolutions = { read: new WeakMap<Sandbox, Resolution>(), write: new WeakMap<Sandbox, Resolution>() };

/** What holds now, for answers about the disk are those of the moment; as long as they stay the same, so does the policy. */
export function resolveFilePolicy(sandbox: Sandbox, { mode, env }: FilePolicyOptions): FilePolicy {
  const known = resolutions[mode].get(sandbox);
  if (known?.env === env && known.survey?.holds()) return known.policy;
  const survey = new Survey();
  const resolved = policyOf(sandbox, env, survey);
  const policy = filePolicyOf(resolved, mode, survey);
  const repeatable = resolved.deniedGlobs.length === 0; // a search is no question
  resolutions[mode].set(sandbox, { env, policy, survey: repeatable ? survey.record() : undefined });
  return policy;
}

function policyOf(sandbox: Sandbox, env: FilePolicyOptions['env'], survey: Survey): Policy {
  const cwd = sandbox.cwd ?? sandbox.policyContext?.cwd;
  if (!cwd && needsCwd(sandbox)) {
    throw new ExecError('invalidParams', 'file system sandbox context with dynamic permissions requires cwd');
  }
  return resolvePolicy(sandbox, {
    cwd: cwd ? () => nativePath(cwd) : undefined,
    tmpdir: env.TMPDIR,
    toNative: nativePath,
    isDirectory: (path) => survey.isDirectory(path),
  });
}

function filePolicyOf(policy: Policy, mode: FilePolicyOptions['mode'], survey: Survey): FilePolicy {
  if (policy.unrestricted) return { kind: 'direct' };
  if (mode === 'read' && hasFullRead(policy)) return { kind: 'guardedRead' };
  const confined: Policy = { ...policy, network: 'restricted', minimal: policy.minimal || !hasFullRead(policy) };
  return {
    kind: 'helper',
    key: JSON.stringify([confined, viewOf(confined, survey)]),
    launch: (program) => launchHelper(program, confined, survey),
  };
}

/**
 * The view a helper would be given now. One that was started before a directory was replaced, or before something to be
 * protected appeared, has another.
 */
function viewOf(policy: Policy, survey: Survey): readonly unknown[] {
  try {
    const { args } = planMounts(policy, expandGlobs(policy.deniedGlobs, policy.globDepth), 0, survey);
    return args.map((arg, at) => (isBind(args[at - 1]) ? [arg, survey.look(arg)?.identity] : arg));
  } catch (error) {
    if (error instanceof Refusal) return [error.message];
    throw error;
  }
}

const isBind = (option: string | undefined): boolean => /^--(ro-)?bind(-try)?$/.test(option ?? '');

/** The number of a session that no session has: helpers belong to the server. */
const HELPERS = -1;
let launches = 0;

function launchHelper(program: string, policy: Policy, survey: Survey): LaunchedHelper {
  const readable: Policy = {
    ...policy,
    rules: [...policy.rules, { path: program, access: 'read', skipMissing: true }],
  };
  const { own, other } = makeChannel();
  const { command, claim } = confineHelper({ program, descriptor: other, policy: readable, survey });
  const mark = familyMark(process.pid, HELPERS, launches++);
  try {
    const child = spawn({ ...command, mark });
    void child.exited.then(async (status) => {
      // A launcher that is killed while it builds the sandbox does not take its child with it.
      if ('signal' in status) await killFamily(mark, PROCESS_MASK);
      claim[Symbol.dispose]();
    });
    return { child, channel: own };
  } catch (error) {
    claim[Symbol.dispose]();
    closeSync(own);
    throw error;
  } finally {
    closeSync(other);
  }
}

function nativePath(uri: PathUri): string {
  try {
    const path = uri.toNative();
    if (typeof path === 'string') return path;
  } catch (error) {
    throw new ExecError('invalidRequest', `invalid sandbox permission path URI: ${(error as Error).message}`);
  }
  throw new ExecError('invalidRequest', `invalid sandbox permission path URI: ${uri} is no UTF-8`);
}

/** The operation of the engine (native/fs-engine.h) that makes two connected sockets. */
const MAKE_CHANNEL = 14;

function makeChannel(): { readonly own: number; readonly other: number } {
  const request = Buffer.alloc(48);
  request.writeUInt16LE(MAKE_CHANNEL, 8);
  const answer = fileAnswer(request);
  if (answer.readUInt32LE(8) !== 0) throw new ExecError('internal', 'no socket for a helper could be made');
  return JSON.parse(answer.toString('latin1', 192, 192 + answer.readUInt32LE(0)));
}
