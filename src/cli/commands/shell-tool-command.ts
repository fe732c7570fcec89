import { resolve } from 'node:path';
import { ExecShell } from '../../agent/escalation/index.ts';
import { serveShellTool } from '../../agent/mcp/index.ts';
import { RulesStore, userRulesFolder } from '../../agent/rules/index.ts';
import { Scope, version } from '../../base/index.ts';
import { hardenProcess, nativeStatus, runUnderInit } from '../../host/os/index.ts';
import { secretPaths } from '../../host/own/index.ts';
import { inheritable } from '../../host/process/index.ts';
import { SandboxHost } from '../../host/sandbox/index.ts';
import { describeOptions, parseOptions, requireNoPositionals } from '../arguments.ts';
import { handleFaults } from '../faults.ts';
import { print } from '../print.ts';
import { parseSandboxMode } from '../sandbox-flag.ts';
import { secretFiles } from '../secret-files.ts';
import { chooseShellPrograms } from '../shell-tool-programs.ts';
import { stderrLogger } from '../stderr-logger.ts';
import { stopToolServerBySignals } from '../stop-deadline.ts';

const options = {
  intercept: {
    type: 'string',
    value: 'HOW',
    help:
      'how programs are intercepted before they start: all (the kernel reports those of every descendant), bash (a patched Bash ' +
      'reports its own), or auto, which is all where the kernel can do it [default: auto]',
  },
  bash: {
    type: 'string',
    value: 'PATH',
    help: 'the Bash to use, a patched one with --intercept=bash [default: the one built here, or /bin/bash; env: CODEX_BASH_PATH]',
  },
  execve: {
    type: 'string',
    value: 'PATH',
    help: 'the program that a patched Bash starts in place of others [default: execve-wrapper of this package]',
  },
  rules: {
    type: 'string',
    value: 'FILE',
    multiple: true,
    help: 'rules file to use besides those of the user in ~/.codex/rules; may be repeated',
  },
  sandbox: {
    type: 'string',
    value: 'MODE',
    help:
      'what commands may touch unless the client sets it: read-only, workspace-write or danger-full-access ' +
      '[default: read-only]',
  },
  'preserve-program-paths': {
    type: 'boolean',
    help: 'check programs against the rules by their full paths; rules for bare names do not match then',
  },
  'trust-escalated-env': {
    type: 'boolean',
    help: 'give programs outside the sandbox all variables of their callers, LD_PRELOAD and the like included',
  },
  version: { type: 'boolean', short: 'V', help: 'show the version' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help =
  (): string => `Serves a tool that runs shell commands to a client of the Model Context Protocol, on stdin and stdout.

Usage: exec-mcp-server [OPTIONS]
       exec-server mcp --tools shell [OPTIONS]

Commands run in a sandbox. Every program they start is checked against the rules first: one that is allowed runs outside
the sandbox, one that is forbidden does not run, and the user is asked about others that a rule names.

Options:
${describeOptions(options)}

Exit codes: 0 stopped as asked, 1 failed (the reason is on stderr), 2 wrong usage.
`;

/** Serves until the input ends or SIGTERM, SIGINT or SIGHUP arrives. */
export async function shellToolCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, options);
  if (values.help) return print(help());
  if (values.version) return print(`exec-mcp-server ${version}\n`);
  requireNoPositionals(positionals);
  runUnderInit();
  const sandbox = parseSandboxMode(values.sandbox ?? 'read-only');
  secretPaths.add(...secretFiles(values, process.env));
  const native = nativeStatus();
  if (!native.ready) throw new Error(native.reason);
  hardenProcess();
  const log = stderrLogger(process.env);
  const stop = new AbortController();
  using faults = handleFaults(log, stop);
  stopToolServerBySignals(stop, { exitCode: () => (faults.isFatal ? 1 : 0), log });
  const folders = [userRulesFolder(process.env)];
  const files = (values.rules ?? []).map((path) => resolve(path));
  await using scope = new Scope();
  const shell = scope.own(
    await ExecShell.open({
      sandboxes: new SandboxHost({
        environment: process.env as Record<string, string>,
        onJournalFault: (error) => log.warn('mount_points.journal_kept', { error: String(error) }),
      }),
      programs: await chooseShellPrograms(values, process.env),
      rules: await RulesStore.open({
        folders,
        files,
        onProblem: ({ message }) => log.warn('rules.not_read', { message }),
      }),
      rulesFrom: [...folders, ...files],
      environment: inheritable(process.env as Record<string, string>),
      preserveProgramPaths: values['preserve-program-paths'] ?? false,
      trustEscalatedEnvironment: values['trust-escalated-env'] ?? false,
      log,
    }),
  );
  await serveShellTool({ shell, sandbox, log, input: process.stdin, output: process.stdout }, stop.signal);
  return faults.isFatal ? 1 : 0;
}
