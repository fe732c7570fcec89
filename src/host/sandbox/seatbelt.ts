// Sandboxes on macOS. Written from the documented language of the system's profiles; not yet tried on a Mac.

import { splitGlob } from './policy/glob.ts';
import { type Access, accessOf, hasFullRead, type Policy } from './policy/resolution.ts';
import { Refusal } from './refusal.ts';
import { PROTECTED_NAMES } from './view/plan.ts';

/** A profile, and the paths it refers to by name. */
export interface Seatbelt {
  readonly profile: string;
  readonly parameters: Readonly<Record<string, string>>;
}

export interface SeatbeltNetwork {
  /** Ports on loopback that may be reached although the network is restricted. */
  readonly proxyPorts: readonly number[];
  /** Whether a command may listen on loopback, and ask for names. */
  readonly allowLocalBinding: boolean;
}

/** The program by its full path: one found in a PATH could be anybody's. */
export const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

const ALWAYS = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow file-write-data (require-all (path "/dev/null") (vnode-type CHARACTER-DEVICE)))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "kern.os")
  (sysctl-name "kern.argmax" "kern.hostname" "kern.maxfilesperproc" "kern.ngroups" "kern.version")
  (sysctl-name "sysctl.proc_cputype" "vm.loadavg"))
(allow ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.PowerManagement.control"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* (require-all (regex #"^/dev/ttys[0-9]+") (extension "com.apple.sandbox.pty")))
(allow file-ioctl (regex #"^/dev/ttys[0-9]+"))`;

const MINIMAL = ['/bin', '/sbin', '/usr', '/System', '/Library', '/private/etc', '/private/var/db', '/dev'];

/** What lets the system's own services answer about preferences; only where everything may be read. */
const PREFERENCES = `(allow ipc-posix-shm-read* (ipc-posix-name-prefix "apple.cfprefs."))
(allow mach-lookup (global-name "com.apple.cfprefsd.daemon") (global-name "com.apple.cfprefsd.agent"))
(allow user-preference-read)`;

export function seatbelt(policy: Policy, network?: SeatbeltNetwork): Seatbelt {
  const writer = new ProfileWriter();
  const text = [
    ALWAYS,
    ...writer.files(policy),
    ...(hasFullRead(policy) ? [PREFERENCES] : []),
    ...networkRules(policy, network),
  ].join('\n');
  return { profile: text, parameters: writer.parameters };
}

/** The command line that runs a command under the profile. */
export function seatbeltArgv({ profile, parameters }: Seatbelt, argv: readonly string[]): readonly string[] {
  const definitions = Object.entries(parameters).map(([name, value]) => `-D${name}=${value}`);
  return [SANDBOX_EXEC, '-p', profile, ...definitions, '--', ...argv];
}

class ProfileWriter {
  readonly parameters: Record<string, string> = {};

  files(policy: Policy): readonly string[] {
    if (policy.unrestricted) return ['(allow file-read* file-write*)'];
    const minimal = policy.minimal ? MINIMAL.map((path) => [path, 'read'] as const) : [];
    const rules = new Map<string, Access>([
      ...minimal,
      ...policy.rules.map((rule) => [rule.path, rule.access] as const),
    ]);
    const lines: string[] = [];
    for (const [path, access] of rules) {
      if (access === 'deny') continue;
      lines.push(`(allow file-read* ${this.#around(path, holes(rules, path, ['deny']), [])})`);
      if (access !== 'write') continue;
      const names = PROTECTED_NAMES.filter((name) => !rules.has(`${path === '/' ? '' : path}/${name}`));
      lines.push(`(allow file-write* ${this.#around(path, holes(rules, path, ['deny', 'read']), names)})`);
      lines.push(`(deny file-write-unlink (literal ${this.#parameter(path)}))`);
    }
    return [...lines, ...policy.deniedGlobs.map(denial)];
  }

  /** Everything below a path but for the holes, which more specific rules fill. */
  #around(path: string, without: readonly string[], names: readonly string[]): string {
    const excluded = without.flatMap((hole) => [
      `(require-not (literal ${this.#parameter(hole)}))`,
      `(require-not (subpath ${this.#parameter(hole)}))`,
    ]);
    const base = path === '/' ? '' : path;
    const protections = names.map((name) => `(require-not (regex #"^${quoted(`${base}/${name}`)}(/|$)"))`);
    return `(require-all ${[`(subpath ${this.#parameter(path)})`, ...excluded, ...protections].join(' ')})`;
  }

  #parameter(path: string): string {
    const known = Object.entries(this.parameters).find(([, value]) => value === path)?.[0];
    const name = known ?? `PATH_${Object.keys(this.parameters).length}`;
    this.parameters[name] = path;
    return `(param "${name}")`;
  }
}

/** Rules below a path that take away from what it allows. */
function holes(rules: ReadonlyMap<string, Access>, path: string, narrowing: readonly Access[]): readonly string[] {
  const prefix = path === '/' ? '/' : `${path}/`;
  return [...rules.keys()].filter(
    (other) => other !== path && other.startsWith(prefix) && narrowing.includes(accessOf(rules, other)),
  );
}

/** Neither to be read nor written, nor moved along with a directory around it. */
function denial(glob: string): string {
  const source = splitGlob(glob).expression.source.replaceAll('\\/', '/').replaceAll('(?:', '(');
  return `(deny file-read* file-write* (regex #"${unquoted(source)}"))
(deny file-write-unlink (subpath "${unquoted(splitGlob(glob).root)}") (vnode-type DIRECTORY))`;
}

function networkRules({ network }: Policy, managed: SeatbeltNetwork | undefined): readonly string[] {
  if (managed) {
    const ports = managed.proxyPorts.map((port) => `(allow network-outbound (remote ip "localhost:${port}"))`);
    if (!managed.allowLocalBinding) return ports;
    return [
      ...ports,
      '(allow network-bind network-inbound (local ip "localhost:*"))',
      '(allow network-outbound (remote ip "localhost:*"))',
      '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
    ];
  }
  return network === 'enabled' ? ['(allow network-outbound)', '(allow network-inbound)', '(allow system-socket)'] : [];
}

const quoted = (path: string): string => unquoted(path).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Text that cannot end the string it is put into. */
function unquoted(text: string): string {
  if (text.includes('"')) throw new Refusal(`a path with a quotation mark cannot be protected: ${text}`);
  return text;
}
