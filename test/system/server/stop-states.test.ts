import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { appeared, childrenOf, eventually, gone, stateOf, uniqueSeconds } from '../../support/proc.ts';
import { serverProgram, startServer, type TestServer } from '../../support/server.ts';
import { Tracer } from '../../support/tracer.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';
import { readOnly } from '../sandbox/fixture.ts';

const GRACE_MS = 300;
/** The grace, what a sweep and a guardian may take besides, and a busy machine. */
const PATIENCE_MS = 15_000;
const BUSY_MACHINE_MS = 2000;
const args = ['--shutdown-grace-period-ms', String(GRACE_MS)];

/** A server is told to stop: how it ended, or that it did not. */
async function stopped(server: TestServer, patienceMs = PATIENCE_MS): Promise<unknown> {
  const outcome = await Promise.race([server.stop(), delay(patienceMs, 'serves on', { ref: false })]);
  if (outcome === 'serves on') server.process.kill('SIGKILL');
  return outcome;
}

type Prepare = (client: WebSocketClient, server: TestServer, scope: Scope) => Promise<void>;

/** Commands that do not want to end, which are found by the number of seconds they sleep. */
const running = (script: string, more: object = {}): Prepare => {
  return async (client, _, scope) => {
    const seconds = uniqueSeconds();
    await client.start({ argv: ['sh', '-c', script.replaceAll('SECONDS', seconds)], ...more });
    const sleeping = await appeared(seconds);
    scope.defer(() => gone(sleeping));
  };
};

const sandbox = {
  permissions: { type: 'managed', file_system: { type: 'restricted', entries: readOnly }, network: 'restricted' },
  windowsSandboxLevel: 'disabled',
  cwd: 'file:///',
};

const states: Readonly<Record<string, Prepare>> = {
  'nothing to do': () => Promise.resolve(),
  'a child that ignores SIGTERM': running('trap "" TERM; sleep SECONDS & wait; wait'),
  'a child that ignores SIGTERM in a sandbox': running('trap "" TERM; sleep SECONDS & wait; wait', { sandbox }),
  'a child that is stopped': running('sleep SECONDS & sleep 0.2; kill -STOP $!; kill -STOP $$'),
  'a child with daemons': running('setsid sleep SECONDS & setsid setsid sleep SECONDS & exit 0'),
  'a flood without a reader': async (client) => {
    const flood = await client.start({ argv: ['yes'] });
    await flood.printed('y\n');
    client.socket.pause();
    for (let n = 0; n < 8; n++) client.begin({ argv: ['yes'] });
  },
  'a child held by a tracer': async (client, _, scope) => {
    const held = await client.start({ argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    scope.own(await Tracer.of(Number(await held.printed('\n'))));
  },
  'a child held dead by a tracer': async (client, _, scope) => {
    const held = await client.start({ argv: ['sh', '-c', 'echo $$; exec sleep 900'] });
    const pid = Number(await held.printed('\n'));
    scope.own(await Tracer.of(pid));
    process.kill(pid, 'SIGKILL');
    await eventually('a zombie', () => stateOf(pid) === 'Z');
  },
  'a guardian that is stopped': async (client, { pid }, scope) => {
    await client.start({ argv: ['sleep', '900'] });
    const isGuardian = (child: number) => /guardian/.test(readFileSync(`/proc/${child}/cmdline`, 'latin1'));
    for (const child of childrenOf(pid).filter((other) => isGuardian(other.pid))) {
      process.kill(child.pid, 'SIGSTOP');
      scope.defer(() => gone(child.pid));
    }
  },
  'long copies under way': async (client, { pid }, scope) => {
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-copies-'));
    scope.defer(() => rmSync(folder, { recursive: true }));
    const endless = openSync(join(folder, 'endless'), 'w');
    ftruncateSync(endless, 2 ** 42); // a hole, which takes no room
    closeSync(endless);
    const sourcePath = pathToFileURL(join(folder, 'endless')).href;
    const copy = { sourcePath, destinationPath: 'file:///dev/null', recursive: false };
    for (let n = 0; n < 8; n++) void client.call('fs/copy', copy);
    const before = writtenBy(pid);
    await eventually('copies', () => writtenBy(pid) > before + 2 ** 24);
  },
  'requests that wait': async (client) => {
    await client.start({ argv: ['sleep', '900'], processId: 'p' });
    for (let n = 0; n < 5000; n++) void client.call('process/wait', { processId: 'p' });
    await client.call('environment/info');
  },
};

/** The bytes that a process has written so far. */
function writtenBy(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

describe('SIGTERM ends a server with', () => {
  it.each(Object.keys(states))('%s', async (state) => {
    await using scope = new Scope();
    const server = await startServer({ args });
    const client = await connect(server.url);
    await states[state]!(client, server, scope);

    expect(await stopped(server)).toBe(0);
  });
});

describe('the grace is all that a stop takes with', () => {
  it.each([
    'a child that ignores SIGTERM',
    'a child held by a tracer',
    'a child held dead by a tracer',
    'a guardian that is stopped',
    'long copies under way',
  ])('%s', async (state) => {
    await using scope = new Scope();
    const graceMs = 3000;
    const server = await startServer({ args: ['--shutdown-grace-period-ms', String(graceMs)] });
    const client = await connect(server.url);
    await states[state]!(client, server, scope);

    expect(await stopped(server, graceMs + BUSY_MACHINE_MS)).toBe(0);
    expect([1001, 1006]).toContain(await client.closed);
  });
});

describe('SIGTERM ends a server that is starting', () => {
  it('and has just started its guardian', async () => {
    const child = spawn(process.execPath, [serverProgram, '--listen', 'ws://127.0.0.1:0', ...args], {
      stdio: 'ignore',
    });
    await once(child, 'spawn');
    while (childrenOf(child.pid!).length === 0) await setImmediate();
    child.kill('SIGTERM');
    const outcome = await Promise.race([once(child, 'exit'), delay(PATIENCE_MS, 'serves on', { ref: false })]);
    if (outcome === 'serves on') child.kill('SIGKILL');
    expect(outcome).toEqual([0, null]);
  });

  it('and has just printed its address', async () => {
    expect(await stopped(await startServer({ args }))).toBe(0);
  });
});
