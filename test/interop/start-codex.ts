import type { Scope } from '../../src/base/index.ts';
import { referenceBinary } from '../support/reference.ts';
import { CodexExec } from './codex-exec.ts';
import { writeCodexHome } from './codex-home.ts';
import { ScriptedModel } from './scripted-model.ts';
import type { Workspace } from './workspace.ts';

/** The real client, told by variables where its environment is. The signal aborts when it ends or the time is over. */
export async function startCodex(
  scope: Scope,
  workspace: Workspace,
  variables: Record<string, string>,
  limitMs = 60_000,
): Promise<{ codex: CodexExec; model: ScriptedModel; signal: AbortSignal }> {
  const over = new AbortController();
  const model = scope.own(new ScriptedModel(over.signal));
  const { clientHome: directory, cwd } = workspace;
  await writeCodexHome({ directory, modelUrl: await model.listen(), config: {}, environment: undefined });
  const env = workspace.env({ CODEX_HOME: directory, ...variables });
  const options = { binary: await referenceBinary(), cwd, env, sandbox: 'danger-full-access' } as const;
  const codex = scope.own(new CodexExec({ ...options, approval: 'never', accepts: () => false }));
  const timer = setTimeout(() => over.abort(new Error(`the scenario took longer than ${limitMs} ms`)), limitMs);
  scope.defer(() => clearTimeout(timer));
  void codex.ended.then(({ code }) => over.abort(new Error(`codex ended with ${code}:\n${codex.stderr}`)));
  return { codex, model, signal: over.signal };
}
