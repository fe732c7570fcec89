/**
 * A procfs of its own. The files below these directories belong to uid 0, as which the commands of a root server run: they could
 * set the kernel's parameters.
 */
const procArgs = (directories: readonly string[]): readonly string[] => [
  ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'],
  ...directories.flatMap((path) => ['--ro-bind-try', path, path]),
];

export interface Isolation {
  readonly proc: boolean;
  /** A network namespace of the sandbox alone, or the one that bubblewrap is started in. */
  readonly network: 'own' | 'launcher';
  /** Which processes are visible: those of the sandbox, or all of the host. */
  readonly pids: 'own' | 'host';
  /** Directories of procfs that have to be read-only, besides the kernel's parameters. */
  readonly procDirectories?: readonly string[];
}

/** The namespaces and the procfs of a sandbox. */
export function isolationArgs({ proc, network, pids, procDirectories = [] }: Isolation): readonly string[] {
  return [
    ...['--unshare-user', '--unshare-ipc'],
    ...(pids === 'own' ? ['--unshare-pid', '--as-pid-1'] : ['--ro-bind', '/proc', '/proc']),
    ...(network === 'own' ? ['--unshare-net'] : []),
    ...(proc && pids === 'own' ? procArgs(procDirectories) : []),
    ...['--cap-drop', 'ALL'],
  ];
}
