import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Child, type ChildEvent, HEADROOM, releaseChunk, TAILROOM } from '../../../src/host/os/index.ts';
import { sha256 } from '../../support/digest.ts';
import { bytesOf, finish, outputMatching, run, start, terminal } from './fixture.ts';

const size = 5 * 1024 * 1024;
const printer = ['sh', '-c', `yes "The quick brown fox jumps over the lazy dog" | head -c ${size}`];

async function digest(child: Child, takeBreath: (event: ChildEvent) => Promise<void> | void = () => undefined) {
  const hash = createHash('sha256');
  let length = 0;
  for await (const event of child.events) {
    hash.update(bytesOf(event));
    length += bytesOf(event).length;
    await takeBreath(event);
  }
  return { length, hash: hash.digest('hex') };
}

/** What the printer prints, with line ends as a terminal shows them. */
function expected(lineEnd: string) {
  const line = 'The quick brown fox jumps over the lazy dog\n';
  const text = line
    .repeat(Math.ceil(size / line.length))
    .slice(0, size)
    .replaceAll('\n', lineEnd);
  return { length: text.length, hash: sha256(text) };
}

describe('output', () => {
  it.each([1, 2, 3, 4, 5])('arrives complete through a pipe, round %d', async () => {
    expect(await digest(start(printer))).toEqual(expected('\n'));
  });

  it.each([1, 2, 3, 4, 5])('arrives complete through a terminal, round %d', async () => {
    expect(await digest(start(printer, { io: terminal }))).toEqual(expected('\r\n'));
  });

  it.each([{ type: 'pipe', stdin: 'closed' }, terminal] as const)(
    'arrives complete at a slow consumer ($type)',
    async (io) => {
      const breathe = async () => {
        for (let i = 0; i < 20; i++) await turn();
      };
      expect(await digest(start(printer, { io }), breathe)).toEqual(expected(io.type === 'pty' ? '\r\n' : '\n'));
    },
  );

  it('arrives complete when it is first taken after the process has ended', async () => {
    const child = start(['sh', '-c', 'yes | head -c 20000'], { io: terminal });
    await child.exited;
    expect((await finish(child)).pty.length).toBe(30_000);
  });

  it('comes as base64 with room around it', async () => {
    const seen: object[] = [];
    for await (const event of start(['printf', 'four']).events) {
      if (event.type !== 'output') continue;
      const { buffer, start, end, byteLength } = event.chunk;
      seen.push({ before: start, byteLength, text: buffer.toString('latin1', start, end), after: buffer.length - end });
    }
    expect(seen).toEqual([{ before: HEADROOM, byteLength: 4, text: 'Zm91cg==', after: TAILROOM }]);
    expect(HEADROOM).toBe(192);
  });

  it('is freed at once when its chunk is released', async () => {
    const child = start(['sh', '-c', 'printf small; yes | head -c 100000']);
    let length = 0;
    for await (const event of child.events) {
      if (event.type !== 'output') continue;
      length += event.chunk.byteLength;
      releaseChunk(event.chunk);
      expect(event.chunk.buffer.length).toBe(0);
    }
    expect(length).toBe(100_005);
  });

  it('of any length is encoded exactly', async () => {
    for (const length of [1, 2, 3, 27, 28, 29, 30, 31, 100, 4095, 12_289, 70_001]) {
      const child = start(['head', '-c', String(length), '/dev/urandom'], { io: { type: 'pipe', stdin: 'closed' } });
      let seen = 0;
      for await (const event of child.events) {
        if (event.type !== 'output') continue;
        const { buffer, start, end, byteLength } = event.chunk;
        const text = buffer.toString('latin1', start, end);
        expect(Buffer.from(text, 'base64').toString('base64')).toBe(text);
        expect(Buffer.from(text, 'base64').length).toBe(byteLength);
        seen += byteLength;
      }
      expect(seen).toBe(length);
    }
  });

  it('of two streams keeps the order in which it was read', async () => {
    const child = start(['bash', '-c', 'echo 1; read; echo 2 >&2; read; echo 3'], {
      io: { type: 'pipe', stdin: 'open' },
    });
    const seen: string[] = [];
    for await (const event of child.events) {
      if (event.type !== 'output') continue;
      seen.push(`${event.stream} ${bytesOf(event).toString().trim()}`);
      await child.stdin!.write(Buffer.from('\n')).catch(() => undefined); // the last answer finds no reader
    }
    expect(seen).toEqual(['stdout 1', 'stderr 2', 'stdout 3']);
  });

  it('written before the end is delivered before the end, and every stream is reported ended', async () => {
    const lanes = Array.from({ length: 100 }, async () => {
      const child = start(['sh', '-c', 'echo out; echo err >&2; exit 4']);
      const seen: string[] = [];
      for await (const event of child.events)
        seen.push(event.type === 'exited' ? 'exited' : `${event.type} ${event.stream}`);
      expect(seen.toSorted()).toEqual(['ended stderr', 'ended stdout', 'exited', 'output stderr', 'output stdout']);
      expect(seen.indexOf('exited')).toBeGreaterThan(seen.indexOf('output stdout'));
      expect(seen.indexOf('exited')).toBeGreaterThan(seen.indexOf('output stderr'));
    });
    await Promise.all(lanes);
  });

  it('after the end stays after it, although the events before have not been taken', async () => {
    const marker = `/tmp/native-output-late-${process.pid}`;
    const late =
      'while kill -0 $$ 2> /dev/null; do :; done; echo late; touch "$0"; while [ -e "$0" ]; do sleep 0.01; done';
    const child = start(['sh', '-c', `(${late}) & echo early; exit 3`, marker]);
    execFileSync('sh', ['-c', 'until [ -e "$0" ]; do sleep 0.01; done; rm "$0"', marker]); // this thread takes nothing meanwhile
    const seen: string[] = [];
    for await (const event of child.events) {
      if (event.type === 'output') seen.push(bytesOf(event).toString());
      if (event.type === 'exited') seen.push('exited');
    }
    expect(seen).toEqual(['early\n', 'exited', 'late\n']);
  });

  it('goes on after the exit while a grandchild holds the stream', async () => {
    const script = 'mkfifo "$0"; (read line < "$0"; echo late) & exit 3';
    const fifo = `/tmp/native-output-${process.pid}`;
    const child = start(['sh', '-c', script, fifo]);
    expect(await child.exited).toEqual({ code: 3 });
    await run(['sh', '-c', 'echo go > "$0"; rm "$0"', fifo]);
    expect((await finish(child)).stdout).toBe('late\n');
  });

  it('ends at once when it is closed, after what is pending', async () => {
    const child = start(['sh', '-c', 'echo pending; sleep 600 & exit 0']);
    await child.exited;
    child.closeOutputs();
    expect(await finish(child)).toMatchObject({ stdout: 'pending\n', status: { code: 0 } });
    await child[Symbol.asyncDispose]();
  });

  it('that is not taken makes the process wait, in bounded memory, until it is disposed', async () => {
    const before = process.memoryUsage.rss();
    const child = start(['sh', '-c', 'head -c 1073741824 /dev/zero & echo $!; wait']);
    const writer = (await outputMatching(child, /^(\d+)\n/))[1]!;
    expect(await writtenAtRest(writer)).toBeLessThan(1024 * 1024);
    expect(process.memoryUsage.rss() - before).toBeLessThan(32 * 1024 * 1024);
    await child[Symbol.asyncDispose]();
    expect(await child.exited).toEqual({ signal: 9 });
  });

  it('of a thousand one-byte writes to alternating streams is bounded too', async () => {
    const child = start(['bash', '-c', 'for ((i = 0; i < 2000; i++)); do printf a; printf b >&2; done']);
    const { stdout, stderr } = await finish(child);
    expect({ out: stdout.length, err: stderr.length }).toEqual({ out: 2000, err: 2000 });
  });
});

/** The bytes a process has written, once it writes no more. */
async function writtenAtRest(pid: string): Promise<number> {
  let written = -1;
  for (let unchanged = 0; unchanged < 2000; unchanged += 1) {
    const count = Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
    if (count !== written) unchanged = 0;
    written = count;
    await turn();
  }
  return written;
}
