import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAlive } from '../native/fixture.ts';
import { bash, byName, Call, type CallOptions, call, directory, wrapper } from './native-fixture.ts';

const escalating: CallOptions = { decide: () => 'escalate' };

/** Prints the numbers of the open descriptors below the socket, without opening any. */
const openDescriptors = `sh -c 'n=0; while [ $n -lt 100 ]; do [ -e /proc/$$/fd/$n ] && printf "%s " $n; n=$((n+1)); done'`;

describe('an exec that is answered with run', () => {
  it('happens in place: same process, same descriptors, same name', async () => {
    const { stdout, requests } = await call(
      `exec 7</dev/null; (exec -a other ${bash} -c 'echo $0 $BASHPID; readlink /proc/self/fd/7')`,
    );

    expect(stdout).toBe(`other ${requests[0]!.pid}\n/dev/null\n`);
  });

  it.each([
    ['a name that starts with a dash', "exec -l sh -c 'echo $0'", '-sh\n'],
    ['arguments that look like options', 'printf %s:%s --help -x', '--help:-x'],
    ['empty arguments', "printf '<%s>' '' a ''", '<><a><>'],
    ['bytes that are no text', "printf %s $'\\xff\\xfe' | od -An -tx1", ' ff fe\n'],
    ['variables that are no text', "V=$'\\xff' printenv V | od -An -tx1", ' ff 0a\n'],
    ['prefix assignments', 'A=1 B="x y" printenv A B', '1\nx y\n'],
  ])('keeps %s', async (_what, script, stdout) => {
    expect(await call(script)).toMatchObject({ stdout, stderr: '', status: { code: 0 } });
  });

  it('leaves closed descriptors closed', async () => {
    expect((await call(`${openDescriptors} <&- 2>&- 5</dev/null`)).stdout).toBe('1 5 ');
  });

  it('keeps an ignored SIGPIPE ignored and a held signal held', async () => {
    const { stdout } = await call("trap '' PIPE; grep -E 'SigIgn|SigBlk' /proc/self/status");

    expect(stdout).toMatch(/SigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\n/);
  });

  it('runs a script without an interpreter line by the shell', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'plain'), 'echo "$0 $1"; [ "$BASH_VERSION" ] && echo bash\n', { mode: 0o755 });
    await writeFile(join(place.path, 'empty'), '', { mode: 0o755 });

    expect(await call(`cd ${place.path}; ./plain 'a b'; ./empty; echo $?`)).toMatchObject({
      stdout: './plain a b\nbash\n0\n',
      stderr: '',
    });
  });

  it('says in the words of the shell what cannot be executed', async () => {
    await using place = await directory();
    await mkdir(join(place.path, 'folder'));
    await writeFile(join(place.path, 'data'), '');
    await writeFile(join(place.path, 'binary'), Buffer.from([1, 0, 2]), { mode: 0o755 });
    await writeFile(join(place.path, 'lost'), '#!/nowhere/interpreter\n', { mode: 0o755 });
    const script = 'cd "$0"; for f in missing folder data binary lost; do ./$f; echo $?; done; nosuchcommand; echo $?';
    const { stdout, stderr, requests } = await call('', { argv: ['bash', '-c', script, place.path] });

    expect(stdout).toBe('127\n126\n126\n126\n127\n127\n');
    expect(stderr.split('\n').map((line) => line.replace(/^.*line 1: /, ''))).toEqual([
      './missing: No such file or directory',
      './folder: Is a directory',
      './data: Permission denied',
      './binary: cannot execute binary file: Exec format error',
      './lost: No such file or directory',
      'nosuchcommand: command not found',
      '',
    ]);
    expect(requests.map(({ file }) => file)).toEqual(['./binary', './lost']);
  });

  it('asks about each of many, and loses none', async () => {
    const { stdout, requests } = await call('for ((i = 0; i < 300; i++)); do /bin/echo a$i || echo lost; done');

    expect(stdout).toBe(Array.from({ length: 300 }, (_, i) => `a${i}\n`).join(''));
    expect(requests.length).toBe(300);
  });
});

describe('an exec that is denied', () => {
  it('says why, and fails', async () => {
    const { stdout, stderr } = await call('touch x; echo $?', { decide: () => ({ deny: 'not "here"\n→ no' }) });

    expect({ stdout, stderr }).toEqual({ stdout: '1\n', stderr: 'Execution denied: not "here"\n→ no\n' });
  });

  it('needs no reason', async () => {
    expect((await call('touch x', { decide: () => ({ deny: '' }) })).stderr).toBe('Execution denied\n');
  });
});

describe('an exec that is escalated', () => {
  it('runs outside with the exact environment, and its exit code comes back', async () => {
    const script = 'unset PATH; export ONLY=this; /usr/bin/env; /bin/sh -c "exit 42"; echo $?';
    const { stdout } = await call(script, escalating);

    expect(stdout.split('\n').filter((line) => !/^(PWD|SHLVL|_|OLDPWD)=/.test(line))).toEqual(['ONLY=this', '42', '']);
  });

  it('has the working directory, umask and limits of its caller', async () => {
    await using place = await directory();
    const script = `cd ${place.path}; umask 027; ulimit -S -n 100; ulimit -c 0; sh -c 'pwd; umask; ulimit -n; ulimit -c; ulimit -H -n' `;
    const { stdout } = await call(script, escalating);
    const [pwd, umask, soft, core, hard] = stdout.split('\n');

    expect([pwd, umask, soft, core]).toEqual([place.path, '0027', '100', '0']);
    expect(Number(hard)).toBeGreaterThan(100);
  });

  it('gets the descriptors of its caller, and no others', async () => {
    await using place = await directory();
    const redirections = `<&- 2>/dev/null 4</dev/null 9>${place.path}/nine 63>&1`;
    const { stdout } = await call(
      `${openDescriptors} ${redirections}; sh -c 'echo out >&9' ${redirections}`,
      escalating,
    );

    expect(stdout).toBe('1 2 4 9 63 ');
    expect(await readFile(join(place.path, 'nine'), 'utf8')).toBe('out\n');
  });

  it('may have the places of its descriptors swapped', async () => {
    const { stdout, stderr } = await call("sh -c 'echo out; echo err >&2' 3>&1 1>&2 2>&3 3>&-", escalating);

    expect({ stdout, stderr }).toEqual({ stdout: 'err\n', stderr: 'out\n' });
  });

  it('dies of a signal as a local command does', async () => {
    const { stdout, stderr } = await call("sh -c 'kill -KILL $$'; echo $?; sh -c 'kill -TERM $$'; echo $?", escalating);

    expect(stdout).toBe('137\n143\n');
    expect(stderr).toMatch(/Killed.*\n.*Terminated/);
  });

  it('executes the file as given, relative to the working directory', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'tool'), '#!/bin/sh\necho "$0 $*"\n', { mode: 0o755 });
    await writeFile(join(place.path, 'plain'), 'echo "$0 plain"\n', { mode: 0o755 });

    expect(await call(`cd ${place.path}; ./tool 'a b' c; ./plain`, escalating)).toMatchObject({
      stdout: './tool a b c\n./plain plain\n',
      stderr: '',
    });
  });

  it('keeps bytes that are no text', async () => {
    const { stdout } = await call("V=$'\\xfe' sh -c 'printf %s \"$V$1\"' - $'\\xff' | od -An -tx1", {
      decide: byName({ sh: 'escalate' }),
    });

    expect(stdout).toBe(' fe ff\n');
  });

  it('has a process group of its own and no signal held or ignored', async () => {
    const script =
      'trap \'\' INT USR1; sh -c \'grep -E "Sig(Blk|Ign)" /proc/self/status; cut -d" " -f1,5 /proc/$$/stat\'';
    const { stdout } = await call(script, escalating);
    const [blocked, ignored, ids] = stdout.split('\n');

    expect([blocked, ignored]).toEqual(['SigBlk:\t0000000000000000', 'SigIgn:\t0000000000000000']);
    expect(ids!.split(' ')[0]).toBe(ids!.split(' ')[1]);
  });

  it('gets the signals its caller is sent', async () => {
    const traps = ['HUP', 'INT', 'QUIT', 'TERM', 'USR1', 'USR2', 'WINCH'];
    const set = traps.map((name) => `trap "echo ${name}" ${name};`).join(' ');
    const loop = 'echo ready; while [ ! -e done ]; do sleep 0.01; done; echo end';
    await using place = await directory();
    await using running = new Call(`cd ${place.path}; (trap - INT QUIT; exec sh -c '${set} ${loop}')`, {
      decide: ({ argv }) => (argv[0] === 'sh' ? 'escalate' : 'run'),
    });
    await running.printed(/ready/);
    const asker = running.requests[0]!.pid;
    for (const name of traps) {
      process.kill(asker, `SIG${name}`);
      await running.printed(new RegExp(`\n${name}\n`));
    }
    await writeFile(join(place.path, 'done'), '');

    expect(await running.finished()).toEqual({ code: 0 });
    expect(running.text.stdout).toBe(`ready\n${traps.join('\n')}\nend\n`);
  });

  it('stops and goes on with its caller', async () => {
    await using running = new Call("sh -c 'echo $$; exec sleep 600'", escalating);
    const [, pid] = await running.printed(/(\d+)\n/);
    const asker = running.requests[0]!.pid;
    const state = async (of: number | string): Promise<string> =>
      /State:\t(\w)/.exec(await readFile(`/proc/${of}/status`, 'utf8'))![1]!;
    process.kill(asker, 'SIGTSTP');
    while ((await state(pid!)) !== 'T' || (await state(asker)) !== 'T');
    process.kill(asker, 'SIGCONT');
    while ((await state(pid!)) === 'T');
  });

  it('ends when its caller is killed', async () => {
    await using running = new Call('sh -c \'trap "" HUP TERM; echo $$; while :; do sleep 600; done\'; echo over', {
      decide: ({ argv }) => (argv[0] === 'sh' ? 'escalate' : 'run'),
    });
    const [, pid] = await running.printed(/(\d+)\n/);
    process.kill(running.requests[0]!.pid, 'SIGKILL');

    expect(await running.event('finished')).toEqual({ type: 'finished', id: 1, status: { signal: 9 } });
    expect(await isAlive(Number(pid))).toBe(false);
    expect(await running.finished()).toEqual({ code: 0 });
  });

  it('is reported when it cannot be started', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'tool'), '#!/nowhere/at/all\n', { mode: 0o755 });
    const { stdout, stderr, events } = await call(`cd ${place.path}; ./tool; echo $?`, escalating);

    expect({ stdout, stderr }).toEqual({ stdout: '127\n', stderr: './tool: No such file or directory\n' });
    expect(events).toContainEqual({ type: 'unstarted', id: 1, step: 'exec', errno: 2 });
  });

  it('is not another file than the one that was judged', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'tool'), '#!/bin/sh\necho swapped\n');
    await chmod(join(place.path, 'tool'), 0o755);
    await using running = new Call(`${place.path}/tool; echo $?`, {
      decide: ({ id, exact }) => {
        void running.broker.escalate(id, exact, { program: { device: 1n, inode: 1n } });
        return 'ignore';
      },
    });
    await running.finished();

    expect(running.text).toEqual({ stdout: '126\n', stderr: `${place.path}/tool: Stale file handle\n` });
  });

  it('is not in another directory than the one that was judged', async () => {
    await using place = await directory();
    await using running = new Call(`cd ${place.path}; /bin/true; echo $?`, {
      decide: ({ id, exact }) => {
        void running.broker.escalate(id, exact, { workdir: { device: 1n, inode: 1n } });
        return 'ignore';
      },
    });
    await running.finished();

    expect(running.text).toEqual({ stdout: '126\n', stderr: `${place.path}: Stale file handle\n` });
  });

  it('works for 300 at once', async () => {
    const start = 'for i in {1..300}; do /bin/sh -c "exit $((i % 100))" & pids+=" $!"; done';
    const check = 'i=0; for p in $pids; do wait $p; [ $? = $((++i % 100)) ] || echo wrong; done';
    const script = `${start}; ${check}; echo done`;

    expect(await call(script, escalating)).toMatchObject({ stdout: 'done\n', stderr: '' });
  });
});

describe('the wrapper', () => {
  const alone = (script: string) => call(script, { shell: '/bin/bash', socket: 200 });

  it.each([
    ['is missing', 'unset CODEX_ESCALATE_SOCKET;', 'execve-wrapper: CODEX_ESCALATE_SOCKET names no descriptor\n'],
    ['is no number', 'CODEX_ESCALATE_SOCKET=x', 'execve-wrapper: CODEX_ESCALATE_SOCKET names no descriptor\n'],
    ['is closed', 'CODEX_ESCALATE_SOCKET=77', 'execve-wrapper: the server cannot be reached: Bad file descriptor\n'],
    [
      'is no socket',
      'CODEX_ESCALATE_SOCKET=0',
      // in the words of musl and of glibc
      expect.stringMatching(
        /^execve-wrapper: the server cannot be reached: (?:Not a socket|Socket operation on non-socket)\n$/,
      ),
    ],
  ])('runs nothing when its socket %s', async (_how, before, stderr) => {
    expect(await alone(`${before} ${wrapper} /bin/echo echo hi; echo $?`)).toMatchObject({ stdout: '126\n', stderr });
  });

  it('says how it is used', async () => {
    expect(await alone(`${wrapper} /bin/echo; echo $?`)).toMatchObject({
      stdout: '2\n',
      stderr: 'usage: execve-wrapper FILE ARGV0 [ARG...]\n',
    });
  });
});
