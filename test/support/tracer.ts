import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Never waits for what it traces: the dead stay zombies that their parent cannot reap.
const program = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char byte;
    if (argc != 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0) < 0) return perror("PTRACE_SEIZE"), 1;
    puts("traced");
    fflush(stdout);
    return read(0, &byte, 1) < 0;
}`;

/** A tracer that holds a process: when that dies it stays a zombie until the tracer is disposed. */
export class Tracer implements AsyncDisposable {
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, process: ChildProcess) {
    this.#folder = folder;
    this.#process = process;
  }

  static async of(pid: number): Promise<Tracer> {
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-tracer-'));
    writeFileSync(join(folder, 'tracer.c'), program);
    execFileSync('cc', ['-o', join(folder, 'tracer'), join(folder, 'tracer.c')]);
    const child = spawn(join(folder, 'tracer'), [String(pid)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [told] = (await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])) as [unknown];
    if (String(told) !== 'traced\n') throw new Error(`process ${pid} cannot be traced`);
    return new Tracer(folder, child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.stdin!.end();
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}
