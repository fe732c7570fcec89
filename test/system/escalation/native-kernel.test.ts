import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SeenAnswer } from '../../../src/agent/escalation/index.ts';
import { byName, Call, type CallOptions, call, directory, workspace } from './native-fixture.ts';

const all = { intercept: 'all', shell: '/bin/bash' } as const;
const escalating: CallOptions = { ...all, decide: byName({ tool: 'escalate', tr: 'escalate' }) };

/** A directory with a script that says where, how and as what it runs. */
async function withTool(): Promise<AsyncDisposable & { readonly path: string }> {
  const place = await directory();
  const script = '#!/bin/sh\necho "$(basename "$0") $* in $PWD, $(umask), $(ulimit -n), $V"; exit 7\n';
  await writeFile(join(place.path, 'tool'), script, { mode: 0o755 });
  return place;
}

describe('with the kernel asking', () => {
  it('every exec of every descendant is asked about, and the shell itself is not', async () => {
    const script = `
      /bin/echo one; sh -c '/bin/echo two; true' ; find /etc/hostname -exec /bin/echo three ';'; echo four | xargs -n1 /bin/echo
      python3 -c 'import os, subprocess; subprocess.run(["/bin/echo", "five"]); os.execv("/bin/echo", ["echo", "six"])'`;
    const { stdout, stderr, requests, status } = await call(script, all);

    expect({ stdout, stderr, status }).toEqual({
      stdout: 'one\ntwo\nthree\nfour\nfive\nsix\n',
      stderr: '',
      status: { code: 0 },
    });
    const asked = requests.filter(({ file }) => file === '/bin/echo').map(({ argv }) => argv[1]);
    expect(asked).toEqual(['one', 'two', 'three', 'four', 'five', 'six']);
    expect(requests.every(({ via }) => via === 'kernel')).toBe(true);
  });

  it('a search of PATH asks about the file that is there alone', async () => {
    const { requests, stdout } = await call(`python3 -c 'import os; os.execvp("true", ["true"])'`, {
      ...all,
      env: { PATH: '/nowhere:/etc/hostname:/usr/bin:/bin' },
    });

    expect(stdout).toBe('');
    expect(requests.map(({ file }) => file)).toEqual(['/usr/bin/python3', '/usr/bin/true']);
  });

  it('what passes by its path and arguments runs unasked', async () => {
    const seen: string[] = [];
    const answerSeen = (path: string, argv: readonly string[]): SeenAnswer => {
      seen.push([path, ...argv].join(' '));
      return argv[1] === 'asked' ? 'inspect' : 'run';
    };
    const script = `cd /bin; /bin/echo one; /bin/echo asked; ./echo here; /bin/sh -c '/nowhere; /bin/echo $0' ü; python3 -c 'import os; os.execvp("true", [])'`;
    const { stdout, stderr, requests } = await call(script, { ...all, answerSeen, env: { PATH: '/usr/bin' } });

    expect(stdout).toBe('one\nasked\nhere\nü\n');
    expect(stderr).toMatch(/nowhere.*not found/);
    expect(seen.slice(0, 5)).toEqual([
      '/bin/echo /bin/echo one',
      '/bin/echo /bin/echo asked',
      '/bin/sh /bin/sh -c /nowhere; /bin/echo $0 ü',
      '/nowhere /nowhere',
      '/bin/echo /bin/echo ü',
    ]);
    expect(requests.map(({ file, argv }) => [file, argv[1]])).toEqual([
      ['/bin/echo', 'asked'],
      ['./echo', 'here'],
    ]);
  });

  it('of a program that always passes are not asked again, whatever its arguments', async () => {
    const seen: string[] = [];
    const answerSeen = (path: string, argv: readonly string[]): SeenAnswer => {
      seen.push([path, ...argv].join(' '));
      return path === '/bin/echo' ? 'allow-path' : 'inspect';
    };
    const script =
      '/bin/echo 1; /bin/echo 2; /bin/true 1; cd /bin; ./echo 3; /usr/bin/../bin/echo 4; /bin/true 2; /bin/echo 5';
    const { stdout, requests } = await call(script, { ...all, answerSeen, decide: byName({ true: { deny: 'no' } }) });

    expect(stdout).toBe('1\n2\n3\n4\n5\n');
    expect(seen).toEqual([
      '/bin/echo /bin/echo 1',
      '/bin/true /bin/true 1',
      '/usr/bin/../bin/echo /usr/bin/../bin/echo 4',
      '/bin/true /bin/true 2',
    ]);
    expect(requests.map(({ file, argv }) => [file, argv[1]])).toEqual([
      ['/bin/true', '1'],
      ['./echo', '3'],
      ['/usr/bin/../bin/echo', '4'],
      ['/bin/true', '2'],
    ]);
  });

  it('more programs than can be remembered pass all the same', async () => {
    await using place = await directory();
    const names = Array.from({ length: 300 }, (_, n) => join(place.path, `true-${n}`));
    await Promise.all(names.map((name) => symlink('/bin/true', name)));
    let asked = 0;
    const answerSeen = (): SeenAnswer => {
      asked += 1;
      return 'allow-path';
    };
    const { stdout } = await call(`for p in ${place.path}/* ${place.path}/*; do $p || echo $p; done; echo end`, {
      ...all,
      answerSeen,
    });

    expect(stdout).toBe('end\n');
    expect(asked).toBeGreaterThanOrEqual(300);
  });

  it('after a denial the same file does not pass under another name', async () => {
    await using place = await directory();
    await symlink('/bin/true', join(place.path, 'true'));
    const search = `import os
for path in "/bin/true", "${place.path}/true":
    try: os.execv(path, ["true"])
    except OSError as error: print(error.strerror)`;
    const { stdout, requests } = await call(`python3 -c '${search}'`, {
      ...all,
      answerSeen: (path) => (path === '/bin/true' ? 'inspect' : 'allow-path'),
      decide: byName({ true: { deny: 'no' } }),
    });

    expect(stdout).toBe('Operation not permitted\nOperation not permitted\n');
    expect(requests.map(({ file }) => file)).toEqual(['/bin/true']);
  });

  it('a request tells all there is to know', async () => {
    await using place = await directory();
    const { requests } = await call(
      `cd ${place.path}; umask 027; ulimit -S -n 99; A=$'\\xff' exec -a name env B=2 true ''`,
      all,
    );

    const [env, inner] = requests;
    expect(env).toMatchObject({
      via: 'kernel',
      file: '/usr/bin/env',
      argv: ['name', 'B=2', 'true', ''],
      workdir: place.path,
    });
    expect(env!.exact.umask).toBe(0o027);
    expect(env!.exact.limits).toContainEqual({ name: 'nofile', soft: 99n, hard: expect.anything() });
    expect(env!.exact.env).toContainEqual(Buffer.from([0x41, 0x3d, 0xff]));
    expect(inner!.env).toMatchObject({ B: '2' });
  });

  it('a denial is said once on the caller’s stderr, and fails the call', async () => {
    const decide = byName({ touch: { deny: 'not that' } });
    const script = `
      touch a 2>&1 | cat; sh -c 'touch b' ; echo $?
      python3 -c 'import subprocess
try: subprocess.run(["touch", "c"])
except OSError as error: print(error.strerror)'`;
    const { stdout, stderr } = await call(script, { ...all, decide });

    expect(stdout).toMatch(
      /^Execution denied: not that\nbash: .*Operation not permitted\n126\nOperation not permitted\n$/,
    );
    expect(stderr.match(/Execution denied: not that\n/g)?.length).toBe(2);
  });

  it('what is not there, or cannot be executed, fails as ever', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'data'), '');
    const script = `cd ${place.path}; /nowhere; ./data; ./; /bin/true; echo over`;
    const { stderr, requests } = await call(script, all);

    expect(stderr.split('\n').map((line) => line.replace(/^.*line 1: /, ''))).toEqual([
      '/nowhere: No such file or directory',
      './data: Permission denied',
      './: Is a directory',
      '',
    ]);
    expect(requests.map(({ file }) => file)).toEqual(['/bin/true']);
  });

  it('a program without an interpreter line runs, and is asked about once for itself', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'plain'), 'echo plain $1\n', { mode: 0o755 });

    expect(await call(`${place.path}/plain x`, all)).toMatchObject({ stdout: 'plain x\n', stderr: '' });
  });

  it('a descriptor can be executed', async () => {
    const script = `python3 -c 'import os; os.execve(os.open("/bin/echo", os.O_RDONLY), ["echo", "by number"], {})'`;
    const { stdout, requests } = await call(script, all);

    expect(stdout).toBe('by number\n');
    expect(requests.at(-1)!.file).toMatch(/\/bin\/echo$/);
  });

  it('none of a thousand in a row is lost', async () => {
    const { stdout, requests } = await call(
      'for ((i = 0; i < 1000; i++)); do /bin/true || echo lost; done; echo done',
      all,
    );

    expect(stdout).toBe('done\n');
    expect(requests.length).toBe(1000);
  });

  it('all goes on when many ask at once', async () => {
    const script = 'for i in {1..200}; do /bin/echo $i & done; wait';
    const { stdout, requests } = await call(script, all);

    expect(stdout.split('\n').filter(Boolean).length).toBe(200);
    expect(requests.length).toBe(200);
  });

  it('an asker that is killed is reported gone', async () => {
    await using running = new Call('/bin/true & echo $!; wait', { ...all, decide: () => 'ignore' });
    const [, pid] = await running.printed(/(\d+)\n/);
    await running.event('asked');
    process.kill(Number(pid), 'SIGKILL');

    expect(await running.event('gone')).toEqual({ type: 'gone', id: 1 });
    expect(await running.finished()).toEqual({ code: 0 });
  });
});

describe('a caller of which the kernel asks is replaced by an escalated command', () => {
  it.each([
    ['bash', 'V=x ./tool a "b c"'],
    ['the shell itself', 'export V=x; exec ./tool a "b c"'],
    ['dash', `sh -c 'V=x ./tool a "b c"; exit $?'`],
    ['env', 'env V=x ./tool a "b c"'],
    ['find', `V=x find . -name tool -execdir ./tool a 'b c' ';'; ./tool > /dev/null`],
    [
      'python',
      `python3 -c 'import os, subprocess, sys
print(end=subprocess.run(["./tool", "a", "b c"], env={**os.environ, "V": "x"}, capture_output=True, text=True).stdout, flush=True)
quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
sys.exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("./tool", ["tool"], {}, file_actions=quiet), 0)[1]))'`,
    ],
    [
      'a thread',
      `python3 -c 'import os, subprocess, sys, threading
def go(): print(end=subprocess.run(["./tool", "a", "b c"], env={**os.environ, "V": "x"}, stdout=subprocess.PIPE, text=True).stdout)
t = threading.Thread(target=go); t.start(); t.join(); sys.exit(7)'`,
    ],
  ])('when it is %s', async (_who, command) => {
    await using place = await withTool();
    const script = `cd ${place.path}; umask 077; ulimit -S -n 99; ${command}`;
    const { stdout, stderr, status } = await call(script, escalating);

    expect({ stdout, stderr, status }).toEqual({
      stdout: `tool a b c in ${place.path}, 0077, 99, x\n`,
      stderr: '',
      status: { code: 7 },
    });
  });

  it('and passes on descriptors, death and signals', async () => {
    await using place = await directory();
    await writeFile(
      join(place.path, 'tool'),
      '#!/bin/sh\necho nine >&9\ntrap "echo term; kill -KILL $$" TERM\necho $$ on\nwhile :; do sleep 0.01; done',
      { mode: 0o755 },
    );
    await using running = new Call(`exec 9>${place.path}/nine; ${place.path}/tool; echo $?`, escalating);
    await running.printed(/on\n/);
    process.kill(running.requests[0]!.pid, 'SIGTERM');

    expect(await running.finished()).toEqual({ code: 0 });
    expect(running.text.stdout).toMatch(/on\nterm\n137\n$/);
    expect(running.text.stderr).toMatch(/Killed/);
    expect(await readFile(join(place.path, 'nine'), 'utf8')).toBe('nine\n');
  });

  it('also while signals keep arriving', async () => {
    // Handlers that interrupt calls would interrupt this one, too, while it waits for the broker to look.
    const script = `python3 -c '
import os, signal
signal.signal(signal.SIGURG, lambda *_: None)
signal.siginterrupt(signal.SIGURG, False)
def escalated():
    pid = os.fork()
    if pid == 0: os.execv("/usr/bin/tr", ["tr", "-d", "x"])
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done: return status == 0
        os.kill(pid, signal.SIGURG)
print(sum(escalated() for _ in range(50)))'`;

    expect(await call(script, escalating)).toMatchObject({ stdout: '50\n', stderr: '' });
  });

  it('many times over', async () => {
    await using place = await directory();
    await writeFile(join(place.path, 'tool'), '#!/bin/sh\nexit $1\n', { mode: 0o755 });
    const script = `cd ${place.path}; for i in {1..100}; do ./tool $i & pids+=" $!"; done; i=0; for p in $pids; do wait $p; [ $? = $((++i)) ] || echo wrong; done; echo done`;

    expect(await call(script, escalating)).toMatchObject({ stdout: 'done\n', stderr: '' });
  });

  it('unless a debugger traces it', async () => {
    const trace = `
import ctypes, os
libc = ctypes.CDLL(None)
pid = os.fork()
if pid == 0:
    libc.ptrace(0, 0, 0, 0)
    try: os.execv("/usr/bin/tr", ["tr", "a", "b"])
    except OSError as error: print(error.strerror, flush=True)
    os._exit(0)
os.waitpid(pid, 0)`;
    const { stdout, stderr } = await call(`python3 -c '${trace}'`, escalating);

    expect(stdout).toBe('Operation not permitted\n');
    expect(stderr).toBe('Execution denied: the command cannot be handed over: tracing: Operation not permitted\n');
  });
});

describe('in a sandbox', () => {
  it('the kernel asks, runs inside and escalates outside', async () => {
    await using inside = await directory();
    await using outside = await directory();
    const escaped = join(outside.path, 'escaped');
    const script = `touch ${inside.path}/here; sh -c 'touch ${escaped}'; dd of=${escaped} 2>&1 </dev/null | tail -1; pwd; id >&2; echo $?`;
    const { stdout, stderr, requests } = await call(script, {
      ...all,
      cwd: inside.path,
      policy: workspace(inside.path),
      decide: ({ file, argv }) =>
        file.endsWith('/touch') && argv[1] === escaped ? 'escalate' : file.endsWith('/id') ? { deny: 'no' } : 'run',
    });

    expect(stdout).toMatch(new RegExp(`Read-only file system\n${inside.path}\n126\n$`));
    expect(stderr).toMatch(/Execution denied: no\n/);
    expect(await readFile(escaped, 'utf8')).toBe('');
    const names = requests.map(({ file }) => file.split('/').at(-1));
    expect(names.sort()).toEqual(['dd', 'id', 'sh', 'tail', 'touch', 'touch']);
  });

  it('wrappers reach the broker through the descriptor the sandbox keeps', async () => {
    await using inside = await directory();
    await using outside = await directory();
    const escaped = join(outside.path, 'escaped');
    const { stdout, requests } = await call(
      `/bin/echo in; touch ${escaped}; echo $?; rm ${escaped} 2>/dev/null; echo $?`,
      {
        cwd: inside.path,
        policy: workspace(inside.path),
        decide: byName({ touch: 'escalate' }),
      },
    );

    expect(stdout).toBe('in\n0\n1\n');
    expect(await readFile(escaped, 'utf8')).toBe('');
    expect(requests.map(({ file }) => file)).toEqual(['/bin/echo', '/usr/bin/touch', '/usr/bin/rm']);
  });
});
