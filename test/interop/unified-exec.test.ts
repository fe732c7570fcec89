import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { Environments, remoteBackend, UnifiedExec } from '../../src/agent/unified-exec/index.ts';
import { webSocket } from '../../src/link/index.ts';
import { ServerUnderTest } from '../conformance/server-under-test.ts';
import { env } from '../support/client-specification.ts';
import { makeOutOfBounds } from '../support/out-of-bounds.ts';
import { referenceBinary } from '../support/reference.ts';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';
import { Workspace } from './workspace.ts';

/** What differs from run to run, in the texts of both. */
function normal(text: string): string {
  return text
    .replace(/^Chunk ID: [0-9a-f]{6}$/m, 'Chunk ID: ID')
    .replace(/^Wall time: \d+\.\d{4} seconds$/m, 'Wall time: TIME')
    .replace(/session ID \d+$/m, 'session ID N')
    .replace(/Unknown process id \d+$/, 'Unknown process id N');
}

const commands: [cmd: string, args: object][] = [
  ['pwd; exit 3', {}],
  ['seq 1 200', { max_output_tokens: 50 }],
  ['printf aaaa', { max_output_tokens: 0 }],
  ["head -c 3000000 /dev/zero | tr '\\0' z", { yield_time_ms: 30_000, max_output_tokens: 30 }],
  ["head -c 30000 /dev/zero | tr '\\0' é", { max_output_tokens: 100 }],
  ["printf '\\303'; sleep 0.3; printf '\\251x\\377y\\342\\202'", {}],
  ['echo tty; exit 1', { tty: true }],
  ['true', { workdir: '/missing' }],
  ['true', { shell: 'fish' }],
  ['true', { environment_id: 'nope' }],
  ['true', { yield_time_ms: -1 }],
  ['true', { sandbox_permissions: 'require_escalated' }],
  ['true', { tty: null }],
  ["apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\nEOF\n", {}],
];

describe('our two tools and those of the real client', () => {
  it('say the same to a model', async () => {
    await using rig = await Rig.start(CodexExec);
    await using environments = new Environments({ box: remoteBackend(webSocket(rig.serverUrl)) });
    await using tools = new UnifiedExec({ environments, settings: { box: { cwd: rig.workspace.cwd } } });
    const call = async (name: string, args: object) => normal((await tools.call(name, JSON.stringify(args))).text);

    const theirs: string[] = [];
    const ours: string[] = [];
    for (const [cmd, args] of commands) {
      theirs.push(normal((await rig.model.exec(cmd, args)).text));
      ours.push(await call('exec_command', { cmd, login: false, ...args }));
    }
    const script = 'stty -echo; echo ready; read line; echo "got $line"; exit 4';
    const their = await rig.model.exec(script, { tty: true, yield_time_ms: 1000 });
    const our = await tools.execCommand({ cmd: script, login: false, tty: true, yield_time_ms: 1000 });
    const id = our.structured!.session_id!;
    theirs.push(normal(their.text));
    ours.push(normal(our.text));
    for (const chars of ['hello\n', '']) {
      theirs.push(normal((await rig.model.stdin(their.sessionId!, chars, 5000)).text));
      ours.push(await call('write_stdin', { session_id: id, chars, yield_time_ms: 5000 }));
    }
    await rig.finish();

    expect(ours).toEqual(theirs);
  });
});

describe('our two tools on the real server', () => {
  it('run commands, type, and count a flood to the last byte', async () => {
    const home = makeOutOfBounds('codex-home');
    try {
      await using workspace = await Workspace.make();
      await using server = ServerUnderTest.start({
        command: await referenceBinary(),
        args: ['exec-server', '--listen', 'ws://127.0.0.1:0'],
        cwd: '/',
        env: { ...env, CODEX_HOME: home },
      });
      await using environments = new Environments({ box: remoteBackend(webSocket(await server.url())) });
      const settings = { box: { cwd: workspace.cwd } };
      await using tools = new UnifiedExec({ environments, settings, allowLoginShell: false });
      const run = async (cmd: string, more: object = {}) => (await tools.execCommand({ cmd, ...more })).structured;

      expect(await run('pwd; exit 3')).toMatchObject({ exit_code: 3, output: `${workspace.cwd}\n` });
      const bytes = 20_000_000;
      const flood = await run(`head -c ${bytes} /dev/zero | tr '\\0' x`, { yield_time_ms: 30_000 });
      expect(flood).toMatchObject({ exit_code: 0, original_token_count: bytes / 4 });
      const terminal = await run('stty -echo; echo ready; read line; exit 4', { tty: true, yield_time_ms: 1000 });
      const typed = await tools.writeStdin({ session_id: terminal!.session_id!, chars: 'x\n', yield_time_ms: 10_000 });
      expect(typed.structured).toMatchObject({ exit_code: 4 });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
