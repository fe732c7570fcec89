import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApprovalPolicy, callbackApprover, Orchestrator } from '../../src/agent/approval/index.ts';
import { RulesStore } from '../../src/agent/rules/index.ts';
import {
  type EnvironmentSettings,
  Environments,
  permissionsOf,
  remoteBackend,
  UnifiedExec,
  type UnifiedExecOptions,
} from '../../src/agent/unified-exec/index.ts';
import { Scope } from '../../src/base/index.ts';
import { webSocket } from '../../src/link/index.ts';
import type { Codex, CodexOptions } from './codex.ts';
import { Rig, type RigOptions } from './rig.ts';
import type { ToolCall } from './scripted-model.ts';
import type { ToolRunner } from './tool-script.ts';
import { WireLog } from './wire-log.ts';
import { WireTap } from './wire-tap.ts';

/** The settings that both are given. */
export interface PairedToolsOptions extends Omit<RigOptions, 'disguise' | 'config'> {
  /** Each wire gets one of its own. */
  readonly disguise?: () => NonNullable<RigOptions['disguise']>;
  readonly tools?: ToolSettings;
}

type ToolSettings = Pick<UnifiedExecOptions, 'modelOutputTokens' | 'allowLoginShell' | 'additionalPermissions'>;

/** The real client and our tools on the same server, each with a directory and a tapped wire of its own. */
export class PairedTools<Client extends Codex> implements AsyncDisposable {
  readonly rig: Rig<Client>;
  readonly theirs: ToolRunner;
  readonly ours: ToolRunner;
  /** What our user was asked, as the real client would show it. */
  readonly questions: { command: string; reason: string | undefined }[] = [];
  readonly tools: UnifiedExec;
  readonly #scope: Scope;

  static async open<C extends Codex>(
    Client: new (options: CodexOptions) => C,
    options: PairedToolsOptions = {},
  ): Promise<PairedTools<C>> {
    const { disguise, tools = {}, ...rest } = options;
    const scope = new Scope();
    try {
      const rig = scope.own(
        await Rig.start(Client, {
          ...rest,
          config: configOf(tools),
          ...(disguise && { disguise: disguise() }),
        }),
      );
      const tap = scope.own(new WireTap(rig.serverUrl, new WireLog(), disguise?.()));
      const pair = new PairedTools(scope, rig, tap, await tap.listen(), options, await RulesStore.open({}));
      await mkdir(pair.ours.cwd);
      return pair;
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(
    scope: Scope,
    rig: Rig<Client>,
    tap: WireTap,
    url: string,
    { approval = 'never', accepts = () => false, sandbox = 'danger-full-access', tools }: PairedToolsOptions,
    rules: RulesStore,
  ) {
    this.#scope = scope;
    this.rig = rig;
    // As long a name as that of the real client's directory, because output is counted in bytes.
    const cwd = join(rig.workspace.root, 'ours');
    const settings: EnvironmentSettings = { cwd, permissions: permissionsOf(sandbox) };
    const approver = callbackApprover(({ command = '', reason }) => {
      this.questions.push(command.startsWith('apply_patch ') ? patchQuestion : { command, reason });
      return { decision: accepts(command) ? 'accept' : 'decline' };
    });
    const options: UnifiedExecOptions = {
      environments: scope.own(new Environments({ box: remoteBackend(webSocket(url)) })),
      settings: { box: settings },
      orchestrator: new Orchestrator({ policy: approval as ApprovalPolicy, approver, rules }),
      ...tools,
    };
    this.tools = scope.own(new UnifiedExec(options));
    this.ours = { cwd, tap, call: (calls) => Promise.all(calls.map((call) => carryOut(this.tools, call))) };
    this.theirs = {
      cwd: rig.workspace.cwd,
      tap: rig.tap,
      call: async (calls) => (await rig.model.call(calls)).map(({ text }) => text),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#scope[Symbol.asyncDispose]();
  }
}

/** The same settings in the configuration of the real client. */
const configOf = ({ modelOutputTokens, allowLoginShell, additionalPermissions }: ToolSettings): object => ({
  ...(modelOutputTokens !== undefined && { tool_output_token_limit: modelOutputTokens }),
  ...(allowLoginShell !== undefined && { allow_login_shell: allowLoginShell }),
  ...(additionalPermissions && { features: { exec_permission_approvals: true } }),
});

/** The real client shows the files of a patch instead of a command. */
const patchQuestion = { command: '', reason: undefined };

async function carryOut(tools: UnifiedExec, call: ToolCall): Promise<string> {
  if ('input' in call) throw new Error(`${call.name} is not one of our tools`);
  const { name, arguments: args } = call;
  return (await tools.call(name, typeof args === 'string' ? args : JSON.stringify(args))).text;
}
