import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CallError } from '../client.ts';
import { fileUri } from '../fixtures.ts';
import { decodeChunk } from '../tracked-process.ts';
import { higher, inFlight, lower, openWarmClient, timeEach, verify, type Workload } from '../workload.ts';

export const sandbox: Workload = {
  about: 'sandboxed readFile, writeFile and process, confinement checked, CPU including helpers',
  async run({ server, fixtures, scale }) {
    using client = await openWarmClient({ server });
    const count = scale.sandboxed;
    const inside = (name: string) => join(fixtures.sandboxWork, name);
    const forbidden = join(fixtures.sandbox, 'forbidden');
    const content = readFileSync(fixtures.file1K).toString('base64');
    copyFileSync(fixtures.file1K, inside('source'));
    for (const path of [inside('allowed'), forbidden]) rmSync(path, { force: true });
    const cwd = fileUri(fixtures.sandboxWork);
    const profile = sandboxContext(cwd, [{ type: 'special', value: { kind: 'root' } }]);
    const narrow = sandboxContext(cwd, systemDirectories());

    const readFile = async (sandbox: object) => {
      const params = { path: fileUri(inside('source')), sandbox };
      const { dataBase64 } = await client.call<{ dataBase64: string }>('fs/readFile', params);
      verify(dataBase64 === content, 'sandboxed fs/readFile');
    };
    const writeFile = (path: string) =>
      client.call('fs/writeFile', { path: fileUri(path), dataBase64: content, sandbox: profile });
    const run = async () => {
      const process = client.start({ argv: ['/bin/true'], cwd, sandbox: profile });
      await process.ended();
      verify(process.exitCode === 0, `sandboxed exit code ${process.exitCode}`);
      return process;
    };

    // Before anything else under a sandbox: what is timed includes starting whatever serves the calls after it.
    const first = await timeEach(1, () => writeFile(inside('target')));
    const before = server.use.cpuSeconds();
    const readAll = await timeEach(count, () => readFile(profile));
    const readNarrow = await timeEach(count, () => readFile(narrow));
    const write = await timeEach(count, () => writeFile(inside('target')));
    verify(readFileSync(inside('target')).toString('base64') === content, 'sandboxed fs/writeFile');
    verify(await isRefused(writeFile(forbidden)), 'a write outside the sandbox was accepted');
    const toExited: number[] = [];
    const toClosed: number[] = [];
    for (let i = 0; i < count; i++) {
      const process = await run();
      toExited.push(process.exitedAt - process.startedAt);
      toClosed.push(process.closedAt - process.startedAt);
    }

    let printed = '';
    const script = `echo no 2>/dev/null >${forbidden}; echo yes >${inside('allowed')}; echo done`;
    const confined = client.start({ argv: ['/bin/sh', '-c', script], cwd, sandbox: profile }, (frame, start, end) => {
      printed += decodeChunk(frame, start, end);
    });
    await confined.closed;
    verify(printed.includes('done') && existsSync(inside('allowed')), 'the sandbox refused what it must allow');
    verify(!existsSync(forbidden), 'the sandbox did not confine');

    const seconds = await inFlight(count, 8, run);
    const after = server.use.cpuSeconds();
    const cpuSeconds = after.own + after.reaped - before.own - before.reaped;
    return {
      samples: {
        'first writeFile of a server': first,
        'readFile (root readable)': readAll,
        'readFile (narrow)': readNarrow,
        writeFile: write,
        'spawn to exited': toExited,
        'spawn to closed': toClosed,
      },
      figures: {
        'spawn x8': higher(count / seconds, 'proc/s'),
        'cpu incl. helpers': lower((cpuSeconds / (5 * count)) * 1000, 'ms/op'),
      },
    };
  },
};

function sandboxContext(writable: string, readable: object[]): object {
  const entries = [
    ...readable.map((path) => ({ path, access: 'read' })),
    { path: { type: 'path', path: writable }, access: 'write' },
  ];
  return {
    permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
    cwd: writable,
    workspaceRoots: [writable],
    windowsSandboxLevel: 'disabled',
    windowsSandboxPrivateDesktop: false,
    useLegacyLandlock: false,
  };
}

/** What a program needs to start, and nothing more: a server cannot wave such a read through without a sandbox. */
function systemDirectories(): object[] {
  return ['/usr', '/bin', '/lib', '/lib64', '/etc']
    .filter((path) => existsSync(path))
    .map((path) => ({ type: 'path', path: fileUri(path) }));
}

async function isRefused(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if (error instanceof CallError) return true;
    throw error;
  }
}
