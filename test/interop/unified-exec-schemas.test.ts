import { describe, expect, it } from 'vitest';
import {
  Environments,
  localBackend,
  UnifiedExec,
  type UnifiedExecOptions,
} from '../../src/agent/unified-exec/index.ts';
import { testHost } from '../support/host.ts';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';

interface Declaration {
  readonly name: string;
  readonly description: string;
  readonly parameters: { readonly properties: Readonly<Record<string, object>> };
}

/** The same tools, each side configured in its own words. */
async function declarations(config: object, options: Omit<UnifiedExecOptions, 'environments'>) {
  await using rig = await Rig.start(CodexExec, { config });
  await using environments = new Environments({ box: localBackend({ host: testHost() }) });
  await using exec = new UnifiedExec({ environments, ...options });
  const theirs = (await rig.model.tools()) as unknown as Declaration[];
  await rig.finish();
  return { theirs: theirs.filter(({ name }) => /^(exec_command|write_stdin)$/.test(name)), ours: exec.tools() };
}

/** The words for the model are our own; everything that a program goes by is not. */
const withoutWords = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, member) => (key === 'description' ? undefined : member));

describe('our two tools', () => {
  it.each([
    [{}, {}],
    [{ features: { exec_permission_approvals: true } }, { additionalPermissions: true }],
  ])('are declared like those of the real client, configured as %j', async (config, options) => {
    const { theirs, ours } = await declarations(config, options);

    expect(theirs).toHaveLength(2);
    expect(withoutWords(ours)).toEqual(withoutWords(theirs));
  });

  it('do not offer a login shell where there is none, other than the real client', async () => {
    const { theirs, ours } = await declarations({ allow_login_shell: false }, { allowLoginShell: false });

    const parameters = (tools: readonly Declaration[]) => Object.keys(tools[0]?.parameters.properties ?? {});
    expect(parameters(theirs)).toContain('login');
    expect(parameters(ours)).toEqual(parameters(theirs).filter((name) => name !== 'login'));
  });
});
