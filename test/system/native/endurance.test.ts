import { readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledOs, freshMark, gone, run, start, terminal } from './fixture.ts';

let os = '';
beforeAll(async () => {
  os = await bundledOs();
});
afterAll(() => rm(os));

/** Children of this process that are dead and not reaped. */
function zombies(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.filter((pid) => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))).length;
}

async function many(count: number): Promise<void> {
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let i = lane; i < count; i += 8)
      await run(i % 100 === 0 ? ['echo', 'x'] : ['true'], i % 10 === 0 ? { io: terminal } : {});
  });
  await Promise.all(lanes);
}

describe('the native addon', () => {
  it('leaks no descriptor, zombie or memory over 10,000 processes', async () => {
    await many(1000);
    const before = { fds: readdirSync('/proc/self/fd').length, rss: process.memoryUsage.rss() };
    await many(9000);
    expect({ fds: readdirSync('/proc/self/fd').length, zombies: zombies() }).toEqual({ fds: before.fds, zombies: 0 });
    expect(process.memoryUsage.rss() - before.rss).toBeLessThan(48 * 1024 * 1024);
  });

  it('leaks no descriptor over failed starts', async () => {
    await run(['true']);
    const before = readdirSync('/proc/self/fd').length;
    for (let i = 0; i < 300; i++) {
      expect(() => start(['no-such-program'], i % 2 === 0 ? { io: terminal } : {})).toThrow('ENOENT');
    }
    expect({ fds: readdirSync('/proc/self/fd').length, zombies: zombies() }).toEqual({ fds: before, zombies: 0 });
  });

  it('works in worker threads, which clean up after themselves', async () => {
    await runWorker();
    const before = readdirSync('/proc/self/fd').length;
    expect(await Promise.all([runWorker(), runWorker()])).toEqual(['from a worker\n', 'from a worker\n']);
    expect({ fds: readdirSync('/proc/self/fd').length, zombies: zombies() }).toEqual({ fds: before, zombies: 0 });
  });

  it('lets the process end when no child is left, and not before', async () => {
    const script = `
      const os = await import(${JSON.stringify(os)});
      const options = { cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' }, mark: ${freshMark()}n };
      const child = os.spawn({ ...options, argv: ['sleep', '0.3'] });
      child.exited.then((status) => console.log(JSON.stringify(status)));`;
    const { stdout, status } = await run([process.execPath, '--input-type=module', '-e', script]);
    expect({ stdout, status }).toEqual({ stdout: '{"code":0}\n', status: { code: 0 } });
  });

  it('keeps descriptors it was started with from its children', async () => {
    const script = `
      const os = await import(${JSON.stringify(os)});
      const options = { cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' }, mark: ${freshMark()}n };
      for await (const { type, chunk } of os.spawn({ ...options, argv: ['ls', '/proc/self/fd'] }).events) {
        if (type === 'output') process.stdout.write(Buffer.from(chunk.buffer.latin1Slice(chunk.start, chunk.end), 'base64'));
      }`;
    // Node marks the descriptors up to 16 close-on-exec when it starts.
    const inheriting = 'exec 17< /dev/null; exec "$0" --input-type=module -e "$1"';
    const { stdout } = await run(['bash', '-c', inheriting, process.execPath, script]);
    expect(stdout).toBe('0\n1\n2\n3\n'); // 3 is the directory ls reads
  });

  it('says how to get it where it is not built', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'native-missing-'));
    await copyFile(os, join(folder, 'os.mjs'));
    const script = "console.log((await import('./os.mjs')).nativeStatus().reason)";
    const { stdout } = await run([process.execPath, '--input-type=module', '-e', script], { cwd: folder });
    await rm(folder, { recursive: true });
    expect(stdout).toBe(
      'the native addon cannot be used (build/native/exec_native.node is missing): run npm run build:native\n',
    );
  });

  it('kills its children when the process exits', async () => {
    const script = `
      const os = await import(${JSON.stringify(os)});
      const options = { cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' }, mark: ${freshMark()}n };
      console.log(os.spawn({ ...options, argv: ['sleep', '600'] }).pid);
      process.exit(7);`;
    const { stdout, status } = await run([process.execPath, '--input-type=module', '-e', script]);
    expect(status).toEqual({ code: 7 });
    await gone(Number(stdout));
  });
});

/** What a child printed that was started by a worker, which also leaves a child behind. */
async function runWorker(): Promise<string> {
  const worker = new Worker(
    `(async () => {
      const { parentPort } = require('node:worker_threads');
      const os = await import(${JSON.stringify(os)});
      const options = { cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' }, mark: ${freshMark()}n };
      os.spawn({ ...options, argv: ['sleep', '600'] });
      const child = os.spawn({ ...options, argv: ['echo', 'from a worker'] });
      let text = '';
      for await (const { type, chunk } of child.events) {
        if (type === 'output') text += Buffer.from(chunk.buffer.latin1Slice(chunk.start, chunk.end), 'base64');
      }
      parentPort.postMessage(text);
    })()`,
    { eval: true },
  );
  const text = await new Promise<string>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await worker.terminate();
  return text;
}
