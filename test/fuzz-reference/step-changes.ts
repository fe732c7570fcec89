import { param } from './outcome.ts';
import { literal, memberOf, type Params, type Step } from './step.ts';

/** The step with other parameters. */
export const changed = (step: Step, change: (params: Params) => Params): Step =>
  step.kind === 'call' ? { ...step, params: change(step.params as Params) } : step;

/** Members whose absence means a value and whose null the reference refuses. */
const notNull = ['pipeStdin', 'mode', 'redirectPolicy', 'headers', 'streamResponse', 'pruneHiddenDirectories'];

/** The step without the members whose null the reference refuses, wherever they are. */
export const withoutNulls = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    value === null && notNull.includes(name) ? undefined : value,
  ) as Step;

/** The greatest unsigned number of 64 bits. */
export const GREATEST = '18446744073709551615';
/** One more than that. */
export const BEYOND = '18446744073709551616';
/** One less than the least signed number of 64 bits. */
export const BELOW = '-9223372036854775809';
/** The greatest double below 2^64. */
export const GREATEST_DOUBLE = '18446744073709549568';

export const EXPONENTS = ['1e3', '1e400'].map(literal);

/** Whether a value can be the place of a name in a list. */
export const isIndex = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isInteger(value) && value >= 0 : /^literal:\d+$/.test(String(value));

/** The step with other values in its permission profiles. */
export const withProfiles = (step: Step, change: (name: string, value: unknown) => unknown): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    name === 'permissions' ? JSON.parse(JSON.stringify(value), change) : value,
  ) as Step;

/** The step with the level that the reference wants in every sandbox. */
export const withLevels = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    name === 'sandbox' && typeof value === 'object' && value !== null && !Object.hasOwn(value, 'windowsSandboxLevel')
      ? { ...value, windowsSandboxLevel: 'disabled' }
      : value,
  ) as Step;

/** The step without the member that ours refuses, wherever it is. */
export const withoutSandboxMode = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) => (name === 'sandboxMode' ? undefined : value)) as Step;

export const hasOlderSandbox = (step: Step): boolean => param(step, 'sandbox', 'sandboxPolicy') != null;

/** Whether the sandbox is one that a client of spring 2026 could have sent. */
export function isUnderstood(step: Step): boolean {
  const policy = param(step, 'sandbox', 'sandboxPolicy');
  const roots = memberOf(policy, 'writable_roots') ?? memberOf(policy, 'writableRoots') ?? [];
  return (
    hasOlderSandbox(step) &&
    policyNames.includes(kebab(memberOf(policy, 'type'))) &&
    Object.keys(policy as object).every((name) => /^(?:type|writable_?roots)$/i.test(name)) &&
    Array.isArray(roots) &&
    roots.every(isNativePath)
  );
}

const policyNames = ['read-only', 'workspace-write', 'danger-full-access', 'external-sandbox'];

const kebab = (name: unknown): string => String(name).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

export const isNativePath = (path: unknown): boolean => typeof path === 'string' && path.startsWith('/');

/** Paths at the top of the parameters as URIs. */
export function withUris(params: Params): Params {
  const uri = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(uri) : isNativePath(value) ? `file://${value}` : value;
  const isPath = (name: string) => ['path', 'cwd', 'missing', 'present'].includes(name);
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, isPath(name) ? uri(value) : value]));
}

/** What a sandbox of spring 2026 says, as it is said today. */
export function ofToday(older: unknown): unknown {
  const policy = memberOf(older, 'sandboxPolicy');
  const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });
  const restricted = (...entries: unknown[]) => ({
    type: 'managed',
    file_system: { type: 'restricted', entries: [special('root', 'read'), ...entries] },
    network: 'restricted',
  });
  const roots = (memberOf(policy, 'writable_roots') ?? memberOf(policy, 'writableRoots') ?? []) as string[];
  const writable = roots.map((root) => ({ path: { type: 'path', path: `file://${root}` }, access: 'write' }));
  const profiles: Readonly<Record<string, unknown>> = {
    'read-only': restricted(),
    'workspace-write': restricted(...writable, special('slash_tmp', 'write'), special('tmpdir', 'write')),
    'danger-full-access': { type: 'disabled' },
    'external-sandbox': { type: 'external', network: 'restricted' },
  };
  const place = roots[0] === undefined ? {} : { cwd: `file://${roots[0]}` };
  return { permissions: profiles[kebab(memberOf(policy, 'type'))], windowsSandboxLevel: 'disabled', ...place };
}
