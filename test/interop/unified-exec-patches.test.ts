import { describe, expect, it } from 'vitest';
import { CodexAppServer } from './codex-app-server.ts';
import { PairedTools } from './paired-tools.ts';
import { play, run, type Scripts } from './tool-script.ts';

const applying = (...lines: string[]): string =>
  ["apply_patch <<'EOF'", '*** Begin Patch', ...lines, '*** End Patch', 'EOF', ''].join('\n');

const scripts: Scripts = {
  'a patch that adds a file': [run(applying('*** Add File: a.txt', '+x'))],
  'a patch of a file that is not there': [run(applying('*** Update File: b.txt', '@@', '-x', '+y'))],
  'a patch that asks to leave the sandbox': [
    run(applying('*** Add File: c.txt', '+x'), { sandbox_permissions: 'require_escalated', justification: 'Please?' }),
  ],
  'a patch beside the project': [run(applying('*** Add File: ../beside.txt', '+x'))],
  'a patch of what is protected in the project': [run(applying('*** Add File: .codex/d.txt', '+x'))],
};

/** How long a patch takes is told too. */
const timeless = (texts: Record<string, string[]>): string =>
  JSON.stringify(texts).replace(/Wall time: [\d.]+/g, 'TIME');

describe.each([
  ['never', 'read-only', true],
  ['on-request', 'read-only', true],
  ['on-request', 'read-only', false],
  ['untrusted', 'read-only', true],
  ['untrusted', 'danger-full-access', false],
  ['never', 'workspace-write', true],
  ['on-request', 'workspace-write', true],
  ['on-request', 'workspace-write', false],
  ['untrusted', 'workspace-write', true],
] as const)('patches under %s, %s, with a user who says %s', (approval, sandbox, accepts) => {
  it('are asked about and answered as by the real client', async () => {
    await using pair = await PairedTools.open(CodexAppServer, { approval, sandbox, accepts: () => accepts });

    const theirs = await play(scripts, pair.theirs);
    const ours = await play(scripts, pair.ours);
    await pair.rig.finish();

    expect(timeless(ours)).toBe(timeless(theirs));
    expect(pair.questions.length).toBe(pair.rig.client.questions.length);
  });
});
