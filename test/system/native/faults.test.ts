import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { WaitingLauncher } from '../../../src/host/sandbox/launch/waiting-launcher.ts';

const native = join(import.meta.dirname, '..', '..', '..', 'native');

/** Compiles a program around parts of the native code and gives what it prints. */
function builtAndRun(program: string, parts: readonly string[], flags: readonly string[], before = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'exec-server-native-'));
  try {
    const source = join(folder, 'main.c');
    const target = join(folder, 'main');
    writeFileSync(source, program);
    writeFileSync(join(folder, 'before.h'), before);
    const files = [source, ...parts.map((part) => join(native, `${part}.c`))];
    execFileSync('cc', [
      '-std=gnu17',
      '-g',
      '-O2',
      '-pthread',
      '-include',
      join(folder, 'before.h'),
      ...flags,
      '-o',
      target,
      ...files,
    ]);
    return execFileSync(target, { encoding: 'utf8', timeout: 25_000, stdio: ['ignore', 'pipe', 'pipe'] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The parts of the file engine, without the program that runs it in a sandbox. */
const sourcesIn = (folder: string): string[] =>
  readdirSync(join(native, folder))
    .filter((name) => name.endsWith('.c') && name !== 'helper.c')
    .map((name) => `${folder}/${name.slice(0, -2)}`);

/** Others come in between whenever a lock is given back. */
const slowUnlock = `
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#define pthread_mutex_unlock(lock) ((pthread_mutex_unlock)(lock), usleep(30))
`;

// JavaScript asks for attention to a child up to the moment it is told that the child is released, and frees it then.
const attention = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "${native}/addon/io.h"
static void notify(void *context) { (void)context; }
int main(void)
{
    struct loop *loop = loop_start(0, 0, notify, NULL);
    char *files[] = {"/bin/true", NULL}, *argv[] = {"true", NULL}, *envp[] = {NULL};
    for (int i = 0; i < 400; i++) {
        struct spawn_request request = {.files = files, .argv = argv, .envp = envp, .cwd = "/", .stdio = STDIO_NULL_INPUT};
        struct spawn_result result;
        if (spawn_child(&request, &result) < 0) return 1;
        struct child *child = loop_add(loop, &result, false);
        if (child == NULL) return 2;
        uint32_t id = child->id;
        for (bool released = false; !released;) {
            pthread_mutex_lock(&loop->lock);
            child->closing = true;
            loop_attend(loop, child);
            pthread_mutex_unlock(&loop->lock);
            for (struct event *event = queue_take(loop); event != NULL;) {
                struct event *next = event->next;
                released = released || (event->kind == EVENT_RELEASED && event->child == id);
                event_free(event);
                event = next;
            }
        }
        pthread_mutex_lock(&loop->lock);
        loop_remove(loop, child);
        pthread_mutex_unlock(&loop->lock);
    }
    loop_stop(loop);
    puts("clean");
}`;

it('a child that is being released is not looked at any more, whatever JavaScript asks for', () => {
  const ofChildren = ['loop', 'children', 'connection', 'queue', 'output', 'input'];
  const ofAddon = [...ofChildren, 'spawn', 'inherit', 'restrict', 'harden'];
  const parts = [...ofAddon.map((part) => `addon/${part}`), 'family/family', 'shared/base64'];
  expect(builtAndRun(attention, parts, ['-fsanitize=address', '-fno-omit-frame-pointer'], slowUnlock)).toBe('clean\n');
});

// A directory that is filled as fast as it is emptied looks like one that can never be removed.
const removal = `
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "${native}/fs/engine.h"
int __wrap_unlinkat(int fd, const char *name, int flags)
{
    (void)fd, (void)name;
    errno = flags & AT_REMOVEDIR ? ENOTEMPTY : EISDIR;
    return -1;
}
int main(void)
{
    struct fs_answer answer;
    struct fs_request request = {.operation = FS_REMOVE, .path = "/tmp", .flags = FS_RECURSIVE};
    if (fs_execute(&request, &answer)) puts(strerror(answer.bytes[12]));
}`;

it('a directory that never becomes empty is given up', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exec-server-never-empty-'));
  const program = removal.replace('"/tmp"', JSON.stringify(folder));
  const parts = [...sourcesIn('fs'), ...sourcesIn('search'), 'shared/base64', 'shared/base64-decode'];
  expect(builtAndRun(program, parts, ['-Wl,--wrap=unlinkat'])).toBe('Directory not empty\n');
  rmSync(folder, { recursive: true });
});

it('a launcher that finds descriptors for one of its sockets only leaves none open', () => {
  const launcher = { usable: true, path: '/usr/bin/bwrap', proc: true } as const;
  const wait = () =>
    new WaitingLauncher({
      launcher,
      program: ['/bin/true'],
      io: { type: 'pipe', stdin: 'open' },
      mark: 0n,
      inherit: [],
    });
  const open = () => readdirSync('/proc/self/fd').length;
  const before = open();
  execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${before + 20}:`]);
  const taken: number[] = [];
  try {
    try {
      for (;;) taken.push(openSync('/dev/null', 'r'));
    } catch {
      // that was the last one
    }
    for (const fd of taken.splice(0, 3)) closeSync(fd); // room for one pair, and to count
    const exhausted = open();
    expect(wait).toThrow();
    expect(open()).toBe(exhausted);
  } finally {
    for (const fd of taken) closeSync(fd);
    execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=4096:']);
  }
});
