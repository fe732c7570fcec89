import { describe, expect, it } from 'vitest';
import { CodexExec } from './codex-exec.ts';
import { PairedTools, type PairedToolsOptions } from './paired-tools.ts';
import { calls, open, play, poll, run, type Scripts, together, type } from './tool-script.ts';
import { untilFile } from './workspace.ts';

const bytes = (count: number, of = 'x') => `head -c ${count} /dev/zero | tr '\\0' '${of}'`;
const armed = (code: number) => `trap 'echo caught; exit ${code}' INT; echo armed; while :; do sleep 0.05; done`;

const endings: Scripts = {
  'a command that succeeds and prints nothing': [run('true')],
  'a command that fails, with its directory': [run('pwd; exit 3')],
  'a command ended by a signal': [run('echo before; kill -KILL $$')],
  'a command that ends with 255': [run('exit 255')],
  'a program that is not there': [run('no-such-program-anywhere 2>&1')],
  'a file that is not executable': [run('touch plain; ./plain 2>&1')],
  'a script with an error in it': [run('if 2>&1')],
  'an empty command': [run('')],
  'a command longer than one argument may be': [run(`: ${'x'.repeat(200_000)}; echo fine`)],
  'a dangerous command, where no user can be asked': [run('rm -rf nothing')],
  'standard error': [run('echo oops >&2; exit 2')],
  'standard input that is closed': [run('cat; read line; echo "read says $?"')],
  'a terminal that ends by itself': [run('test -t 0 && echo tty; stty size; exit 7', { tty: true })],
  'a login shell': [run('shopt -q login_shell && echo login', { login: true })],
  'no login shell': [run('shopt -q login_shell || echo plain')],
  'a server shell by its name': [run('echo "$0"', { shell: 'bash' })],
  'a server shell by another path': [run('echo "$0"', { shell: '/usr/bin/bash' })],
  'a shell the server does not have': [run('true', { shell: 'zsh' })],
  'a shell of the same kind in another place': [run('echo "$0"', { shell: '/missing/bash' })],
  'a shell that is not known': [run('true', { shell: '/opt/fish' })],
  'a directory below that of the conversation': [run('mkdir -p sub'), run('pwd', { workdir: 'sub' })],
  'a directory by its absolute path': [run('pwd', { workdir: '/usr' })],
  'an empty directory name': [run('pwd', { workdir: '' })],
  'a directory that is not there': [run('true', { workdir: 'missing "dir"' })],
  'a directory whose name cannot be': [run('true', { workdir: 'a\0b', shell: 'fish' })],
  'a directory that is a file': [run('touch file'), run('true', { workdir: 'file' })],
  'variables that make programs print plainly': [
    run('echo "$TERM $NO_COLOR $LANG $LC_ALL $PAGER $GIT_PAGER $GH_PAGER [$COLORTERM] $CODEX_CI"'),
  ],
};

const outputs: Scripts = {
  'a character that comes in two pieces': [run("printf '\\303'; sleep 0.5; printf '\\251'")],
  'bytes that are no UTF-8': [run("printf 'a\\377b\\300\\200c\\355\\240\\200d\\360\\237\\230e\\342\\202'")],
  'all single bytes': [run('printf "$(printf \'\\\\x%02x\' $(seq 1 255))"')],
  'NUL bytes': [run("printf 'a\\0b\\0'")],
  'escape sequences of a terminal': [run("printf '\\033[31mred\\033[0m\\a\\b'", { tty: true })],
  'output as long as its budget': [run(bytes(200), { max_output_tokens: 50 })],
  'output one byte longer': [run(bytes(201), { max_output_tokens: 50 })],
  'output four bytes longer': [run(bytes(204), { max_output_tokens: 50 })],
  'output five bytes longer': [run(bytes(205), { max_output_tokens: 50 })],
  'many lines': [run('seq 1 200', { max_output_tokens: 50 })],
  'lines without a last newline': [run('printf "%s" "$(seq 1 200)"', { max_output_tokens: 50 })],
  'empty lines only': [run("yes '' | head -300", { max_output_tokens: 50 })],
  'lines with carriage returns': [run('seq 1 100', { tty: true, max_output_tokens: 20 })],
  'cuts inside characters of two bytes': [run('x=$(printf "é%.0s" $(seq 300)); echo "a$x"', { max_output_tokens: 33 })],
  'cuts inside characters of three bytes': [run('printf "€%.0s" $(seq 300)', { max_output_tokens: 50 })],
  'cuts inside characters of four bytes': [run('printf "ab😀%.0s" $(seq 300)', { max_output_tokens: 31 })],
  'cuts inside bytes that are no UTF-8': [run("printf '\\377%.0s' $(seq 300)", { max_output_tokens: 25 })],
  'no budget': [run('echo something', { max_output_tokens: 0 })],
  'no budget and no output': [run('true', { max_output_tokens: 0 })],
  'a budget of one token': [run('echo something', { max_output_tokens: 1 })],
  'a budget of two tokens': [run('printf "€€€€"', { max_output_tokens: 2 })],
  'the largest output that is shown whole': [run(bytes(40_000))],
  'one byte more than that': [run(bytes(40_001))],
  'a budget above what the model takes': [run(bytes(60_000), { max_output_tokens: 1_000_000 })],
  'a budget of its own for each call': [
    open(`seq 1 50; ${untilFile('budget')}; seq 51 100`, { max_output_tokens: 10 }),
    together(run('touch budget'), poll({ max_output_tokens: 5 })),
  ],
};

const floods: Scripts = {
  'a MiB to the byte': [run(bytes(1_048_576), { max_output_tokens: 30 })],
  'a MiB and ten bytes': [run(bytes(1_048_586), { max_output_tokens: 30 })],
  'a MiB and ten bytes, with all that the model takes': [run(`seq -f '%07.0f' 1 131073; printf 'ab'`)],
  'three MiB in a terminal': [run(`stty -opost; ${bytes(3_145_728, 'z')}`, { tty: true, max_output_tokens: 30 })],
};

const sessions: Scripts = {
  'a command that goes on, and its end': [
    open(`echo one; ${untilFile('long')}; echo two; exit 5`),
    together(run('touch long'), poll()),
    poll(),
  ],
  silence: [open(`${untilFile('silent')}`), together(run('touch silent'), poll())],
  'a look that sees nothing new': [
    open(`echo one; ${untilFile('look')}`),
    poll({ yield_time_ms: 1 }),
    together(run('touch look'), poll()),
  ],
  'typing into a terminal': [
    open('stty -echo; echo ready; read line; echo "got $line"; exit 4', { tty: true }),
    type('hello\n'),
    type('more\n'),
  ],
  'the echo of a terminal': [open('exec cat', { tty: true }), type('grüße\n'), type('\u0004')],
  'Ctrl-C in a terminal': [open(armed(42), { tty: true }), type('\u0003')],
  'Ctrl-C in a terminal, which no program catches': [open('sleep 300', { tty: true }), type('\u0003')],
  'Ctrl-C without a terminal': [open(armed(9)), type('\u0003')],
  'Ctrl-C without a terminal, which no program catches': [open('exec sleep 300'), type('\u0003')],
  'text without a terminal': [
    open('exec sleep 300'),
    type('text\n'),
    type('\u0003\u0003'),
    type('\u0004'),
    type('\u0003'),
  ],
  'a session that was not opened': [calls('write_stdin', { session_id: 4242, chars: '' })],
  'a session below zero': [calls('write_stdin', { session_id: -1, chars: 'x' })],
  'a child that keeps the output open': [
    open(`(${untilFile('child')}; echo late) & echo done; exit 6`),
    together(run('touch child'), poll()),
  ],
  'a terminal whose command leaves a child': [
    run(`(${untilFile('never')}; echo late) & echo done; exit 6`, { tty: true }),
  ],
  'a command that ends between two calls': [
    open(`${untilFile('between')}; echo gone; exit 8`),
    run('touch between; sleep 1'),
    type('late\n'),
    poll(),
  ],
  'a terminal that ends between two calls': [
    open(`${untilFile('terminal')}; echo gone; exit 8`, { tty: true }),
    run('touch terminal; sleep 1'),
    type('late\n'),
    poll(),
  ],
  'a character split between two calls': [
    open(`printf 'a\\303'; ${untilFile('split')}; printf '\\251b'`),
    together(run('touch split'), poll()),
  ],
  'a window below the shortest': [open('exec sleep 300', { yield_time_ms: 0 }), type('\u0003')],
};

const argumentsOf: Scripts = Object.fromEntries(
  [
    ['exec_command', '{}'],
    ['exec_command', ''],
    ['exec_command', '[]'],
    ['exec_command', '{"cmd":5}'],
    ['exec_command', '{"cmd":["ls"]}'],
    ['exec_command', '{"cmd":"true"'],
    ['exec_command', '{"cmd":"true","cmd":"false"}'],
    ['exec_command', '{"cmd":"true","tty":"yes"}'],
    ['exec_command', '{"cmd":"true","yield_time_ms":-1}'],
    ['exec_command', '{"cmd":"true","yield_time_ms":1.5}'],
    ['exec_command', '{"cmd":"true","max_output_tokens":"9"}'],
    ['exec_command', '{"cmd":"true","sandbox_permissions":"everything"}'],
    ['exec_command', '{"cmd":"true","sandbox_permissions":"with_additional_permissions"}'],
    ['exec_command', '{"cmd":"true","sandbox_permissions":"require_escalated"}'],
    ['exec_command', '{"cmd":"true","prefix_rule":"git"}'],
    ['exec_command', '{"cmd":"true","environment_id":"elsewhere"}'],
    ['exec_command', '{"cmd":"echo fine","login":false,"colour":"blue"}'],
    ['exec_command', '{"cmd":"echo fine","login":false,"workdir":null,"shell":null,"max_output_tokens":null}'],
    ['write_stdin', '{}'],
    ['write_stdin', '{"session_id":"7"}'],
    ['write_stdin', '{"session_id":3000000000}'],
    ['write_stdin', '{"session_id":7,"chars":5}'],
    ['no_such_tool', '{}'],
  ].map(([name, args]) => [`${name} ${args}`, [calls(name!, args!)]]),
);

const patch = (...lines: string[]) => `apply_patch <<'EOF'\n*** Begin Patch\n${lines.join('\n')}\n*** End Patch\nEOF\n`;

const patches: Scripts = {
  'a patch': [run(patch('*** Add File: made.txt', '+one', '+two')), run('cat made.txt')],
  'a patch after a change of directory': [
    run('mkdir -p deep'),
    run(`cd deep && ${patch('*** Add File: in.txt', '+x')}`),
    run('ls deep'),
  ],
  'a patch that does not fit': [run(patch('*** Update File: nothing.txt', '@@', '-a', '+b'))],
  'a patch that is none': [run(patch('*** Frobnicate: a'))],
  'a patch within a longer script': [
    run(`exec 2>&1; echo first; ${patch('*** Add File: late.txt', '+x')}`),
    run('ls late.txt 2>&1'),
  ],
};

// No session ids and no patches: their answers have a length of their own each time.
const cramped: Scripts = {
  'output that fits': [run('echo short')],
  'output above it': [run('seq 1 1000')],
  'a budget above it': [run('seq 1 1000', { max_output_tokens: 900 })],
  'a budget below it': [run('seq 1 1000', { max_output_tokens: 5 })],
  'a long complaint': [calls('exec_command', { cmd: 'true', environment_id: 'long'.repeat(300) })],
  'an unknown tool with a long name': [calls('x'.repeat(60), '{}')],
  'a directory that is not there': [run('true', { workdir: '/missing' })],
};

/** Fails with the sentences of those scripts whose texts differ. */
async function expectSame(scripts: Scripts, options: PairedToolsOptions = {}): Promise<void> {
  const { theirs, ours } = await playBoth(scripts, options);
  for (const sentence of Object.keys(scripts)) expect.soft(ours[sentence], sentence).toEqual(theirs[sentence]);
}

async function playBoth(scripts: Scripts, options: PairedToolsOptions = {}) {
  await using pair = await PairedTools.open(CodexExec, options);
  const [theirs, ours] = await Promise.all([play(scripts, pair.theirs), play(scripts, pair.ours)]);
  await pair.rig.finish();
  return { theirs, ours };
}

describe('our two tools and those of the real client, on the same server, say the same about', () => {
  it('how commands end', () => expectSame(endings));
  it('what they print', () => expectSame(outputs));
  it('how much they print', () => expectSame(floods));
  it('commands that go on', () => expectSame(sessions));
  it('arguments that cannot be used', () => expectSame(argumentsOf));
  it('patches', () => expectSame(patches));
  it.each([1, 33, 203])('everything, to a model that takes %d tokens', (tokens) =>
    expectSame(cramped, { tools: { modelOutputTokens: tokens } }),
  );

  it('login shells, where they are switched off', () =>
    expectSame(
      {
        'a wish for one': [run('true', { login: true })],
        'a wish for none': [run('shopt -q login_shell || echo plain', { login: false })],
        'no wish': [calls('exec_command', { cmd: 'shopt -q login_shell || echo plain' })],
      },
      { tools: { allowLoginShell: false } },
    ));

  it('sessions beyond the 64th', async () => {
    const start = open('exec sleep 300', { yield_time_ms: 250 });
    const starts = (count: number) => Array.from({ length: count }, () => start);
    const looks = [0, 1, 2, 3, 4, 5, 6, 7, 68, 69].map((index) => type('\u0003', {}, index));
    await expectSame({ seventy: [...starts(6), together(...starts(58)), ...starts(6), together(...looks)] });
  });
});

describe('other than the real client, our tools', () => {
  it('know a shell in capitals, and watch a command until its children have printed their last', async () => {
    const child = `(${untilFile('child')}; echo late) & echo done; exit 6`;
    const { theirs, ours } = await playBoth({
      shell: [run('echo "$0"', { shell: 'BASH' })],
      child: [open(child), poll({ yield_time_ms: 5000 }), together(run('touch child'), poll()), poll()],
    });

    expect(theirs.shell).toEqual(['environment `box` only supports `bash`']);
    expect(ours.shell).toEqual([expect.stringMatching(/\/bash\n$/)]);
    const [, look, , end] = ours.child!;
    expect(look).toBe(theirs.child![1]);
    expect(theirs.child![3]).toMatch(/code 6\nOriginal token count: 0\nOutput:\n$/);
    expect(end).toMatch(/code 6\nOriginal token count: 2\nOutput:\nlate\n$/);
  });
});
