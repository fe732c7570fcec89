import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PathUri } from '../../protocol/index.ts';
import { type FileRequest, fileFlags, parseResult, type ResultText } from '../engine/index.ts';
import { ANSWER_ROOM_BEFORE, nativeFile, spawn, streamPair } from '../os/index.ts';
import { SandboxedEngine } from './sandboxed-engine.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exec-server-helper-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const uri = (name: string): PathUri => PathUri.fromNative(join(folder, name));
const reading = (name: string): FileRequest => ({ operation: 'readFile', paths: [uri(name)] });

/** A helper of which nothing but the sandbox is missing; the pid lets a test do something to it. */
function start(
  argv: string[] = [nativeFile('fs-helper'), '3'],
  refused: string[] = [],
): { helper: SandboxedEngine; pid: number } {
  const [own, other] = streamPair();
  const io = { type: 'pipe', stdin: 'closed' } as const;
  const child = spawn({ argv, cwd: '/', env: {}, io, mark: 0n, inherit: [other] });
  closeSync(other);
  return { helper: new SandboxedEngine({ child, channel: own, refused, mounts: Buffer.alloc(0) }), pid: child.pid };
}

/** A helper that answers when the test says so, with what comes out of a FIFO. */
async function startScripted(): Promise<
  { helper: SandboxedEngine; answer(id: number): Promise<void> } & AsyncDisposable
> {
  const fifo = join(folder, 'answers');
  execFileSync('mkfifo', [fifo]);
  const { helper } = start(['/bin/sh', '-c', 'exec cat "$0" >&3', fifo]);
  const answers = await open(fifo, 'w');
  const answer = async (id: number): Promise<void> => {
    const head = Buffer.alloc(ANSWER_ROOM_BEFORE);
    head.writeUInt32LE(2, 0);
    head.writeUInt32LE(id, 4);
    await answers.write(Buffer.concat([head, Buffer.from('{}')]));
  };
  return {
    helper,
    answer,
    [Symbol.asyncDispose]: async () => {
      await answers.close();
      await helper[Symbol.asyncDispose]();
    },
  };
}

const contentOf = async (result: ResultText | Promise<ResultText>): Promise<Buffer> => {
  const { dataBase64 } = parseResult(await result) as { dataBase64: string };
  return Buffer.from(dataBase64, 'base64');
};

describe('a helper', () => {
  it('neither appends to what must stay missing, nor changes its permissions, when it has appeared', async () => {
    await using helper = start(undefined, [join(folder, 'refused')]).helper;
    const setPermissions = (name: string, flags = 0) =>
      Promise.resolve(helper.execute({ operation: 'setPermissions', paths: [uri(name)], numbers: [0o600], flags }));
    const append = (name: string, flags = 0) =>
      Promise.resolve(helper.execute({ operation: 'open', paths: [uri(name)], flags: flags | fileFlags.append }));
    mkdirSync(join(folder, 'plain'));
    symlinkSync('refused', join(folder, 'link'));
    await expect(append('refused')).rejects.toThrow('Read-only file system');
    await setPermissions('plain'); // the helper has begun
    mkdirSync(join(folder, 'refused'));
    writeFileSync(join(folder, 'refused/file'), '');
    for (const name of ['refused', 'refused/file', 'link', 'link/file']) {
      await expect(setPermissions(name)).rejects.toThrow('Read-only file system');
    }
    await expect(append('refused/file')).rejects.toThrow('Read-only file system');
    for (const change of [setPermissions, append]) {
      await expect(change('refused/file', fileFlags.noFollow)).rejects.toThrow('Read-only file system');
    }
  });

  it('is waited for once it is known to answer', async () => {
    await using helper = start().helper;
    writeFileSync(join(folder, 'file'), 'content');
    const first = helper.execute(reading('file'));
    expect(first).toBeInstanceOf(Promise);
    expect(String(await contentOf(first))).toBe('content');
    let answer: ReturnType<typeof helper.execute>;
    do {
      answer = helper.execute(reading('file'));
      expect(String(await contentOf(answer))).toBe('content');
    } while (answer instanceof Promise); // where others keep the processor busy a few answers come too late
  });

  it('gives back whole what is too long to be waited for, whatever else it is asked meanwhile', async () => {
    await using helper = start().helper;
    const large = Buffer.alloc(5_000_000, 'abcdefg');
    writeFileSync(join(folder, 'large'), large);
    writeFileSync(join(folder, 'small'), 'content');
    await helper.execute(reading('small'));
    const names = ['large', 'small', 'large', 'small', 'small', 'large'];
    const results = await Promise.all(names.map((name) => contentOf(helper.execute(reading(name)))));
    expect(results.map((bytes) => bytes.length)).toEqual(names.map((name) => (name === 'large' ? 5_000_000 : 7)));
    expect(results[5]!.equals(large)).toBe(true);
  });

  it('writes and reads back what it was sent, small or large', async () => {
    await using helper = start().helper;
    for (const size of [0, 1, 60_000, 70_000, 3_000_000]) {
      const payload = Buffer.alloc(size, 'xyz');
      await helper.execute({ operation: 'writeFile', paths: [uri('file')], payload });
      expect((await contentOf(helper.execute(reading('file')))).equals(payload)).toBe(true);
    }
  });

  it('that hangs keeps no other call waiting, and answers when it goes on', async () => {
    const { helper: hanging, pid } = start();
    await using helper = hanging;
    writeFileSync(join(folder, 'file'), 'content');
    await helper.execute(reading('file'));
    process.kill(pid, constants.signals.SIGSTOP);
    const late = helper.execute(reading('file'));
    expect(late).toBeInstanceOf(Promise);
    expect(helper.busy).toBe(true);
    const later = helper.execute(reading('file'));
    process.kill(pid, constants.signals.SIGCONT);
    expect(String(await contentOf(late))).toBe('content');
    expect(String(await contentOf(later))).toBe('content');
    expect(helper.busy).toBe(false);
  });

  it('that dies fails what it was asked, and says how it ended', async () => {
    const { helper: dying, pid } = start();
    await using helper = dying;
    writeFileSync(join(folder, 'file'), 'content');
    await helper.execute(reading('file'));
    process.kill(pid, constants.signals.SIGSTOP);
    const late = helper.execute(reading('file'));
    process.kill(pid, constants.signals.SIGKILL);
    await expect(late).rejects.toThrow('fs sandbox helper failed with status signal: 9');
    expect(helper.failed).toBe(true);
    await expect(helper.execute(reading('file'))).rejects.toThrow('fs sandbox helper failed');
  });

  it('waits for no answer to a request about another host, which is never sent', async () => {
    await using helper = start().helper;
    writeFileSync(join(folder, 'file'), 'content');
    const foreign: FileRequest = { operation: 'readFile', paths: [PathUri.parse('file://host/x')] };
    await expect((async () => helper.execute(foreign))()).rejects.toThrow('file://host/x');
    expect(helper.busy).toBe(false);
    expect(String(await contentOf(helper.execute(reading('file'))))).toBe('content');
  });

  it('has 30 s for every answer, however long the requests before it took', async () => {
    await using scripted = await startScripted();
    const { helper, answer } = scripted;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const [first, second, third] = ['a', 'b', 'c'].map((name) => helper.execute(reading(name)));
      vi.advanceTimersByTime(20_000);
      await answer(1);
      expect(parseResult(await first!)).toEqual({});
      vi.advanceTimersByTime(20_000);
      expect(helper.failed).toBe(false);
      await answer(2);
      expect(parseResult(await second!)).toEqual({});
      vi.advanceTimersByTime(29_999);
      expect(helper.failed).toBe(false);
      vi.advanceTimersByTime(1);
      await expect(third).rejects.toThrow('fs sandbox helper failed no answer within 30 s');
    } finally {
      vi.useRealTimers();
    }
  });
});
