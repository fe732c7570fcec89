import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../support/digest.ts';
import { answerIn, peerProbe, portOf, probe, undumpableProcess } from '../../support/peer-probe.ts';
import { StartFrames } from '../../support/start-frames.ts';
import { connect } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

const TOKEN = 'a-token-for-the-peers';
const withToken = {
  args: ['--ws-auth', 'capability-token', '--ws-token-sha256', sha256(TOKEN)],
  headers: { authorization: `Bearer ${TOKEN}` },
};
const STRANGER = 54_321;
const isRoot = process.getuid!() === 0;

const inSandbox = { network: 'enabled' } as const;
const sandboxRefusal = { status: 403, body: 'connections from sandboxed commands are not served' };

/** A user and a pid namespace of their own, like those of a container. */
const container = ['unshare', '--user', '--map-root-user', '--pid', '--fork'];

describe.each(accounts)('the server of $name', (account) => {
  const asAccount = account.uid === process.getuid!() ? {} : { uid: account.uid };

  async function askInside(
    fixture: SandboxFixture,
    mode: string,
    token = '',
  ): Promise<{ status: number; body: string }> {
    const { stdout, stderr } = await fixture.run(
      `${peerProbe()} ${mode} ${portOf(fixture.server.url)} ${token}`,
      inSandbox,
    );
    expect(stderr).toBe('');
    return answerIn(stdout);
  }

  it('refuses a command in its sandbox, with or without a token', async () => {
    await using open = await SandboxFixture.open(account);
    await using guarded = await SandboxFixture.open(account, {}, withToken);

    expect(await askInside(open, 'plain')).toEqual(sandboxRefusal);
    expect(await askInside(open, 'undumpable')).toEqual(sandboxRefusal);
    expect(await askInside(open, 'thread')).toEqual(sandboxRefusal);
    expect(await askInside(guarded, 'plain', TOKEN)).toEqual(sandboxRefusal);
    expect(await askInside(guarded, 'undumpable', TOKEN)).toEqual(sandboxRefusal);
  });

  it('refuses a command in a sandbox that lowers its mark', async () => {
    await using fixture = await SandboxFixture.open(account, {}, withToken);
    const lower = 'prlimit --rttime=1000000000 --pid $$ &&';

    const { stdout } = await fixture.run(
      `${lower} ${peerProbe()} plain ${portOf(fixture.server.url)} ${TOKEN}`,
      inSandbox,
    );

    expect(answerIn(stdout)).toEqual(sandboxRefusal);
  });

  it('refuses the commands in the sandboxes of another server', async () => {
    await using one = await SandboxFixture.open(account);
    await using other = await SandboxFixture.open(account, {}, withToken);

    const { stdout } = await one.run(`${peerProbe()} plain ${portOf(other.server.url)} ${TOKEN}`, inSandbox);

    expect(answerIn(stdout)).toEqual(sandboxRefusal);
  });

  it('starts nothing for a command in a sandbox that has hung up already', async () => {
    await using fixture = await SandboxFixture.open(account, { EXEC_SERVER_LOG: 'debug' });
    const escaped = fixture.at('outside/escaped');
    fixture.write(
      'workspace/frames',
      new StartFrames(portOf(fixture.server.url)).starting(['/usr/bin/touch', escaped]),
    );

    await fixture.run(`exec 3<>/dev/tcp/127.0.0.1/${portOf(fixture.server.url)}; cat frames >&3`, inSandbox);
    await fixture.server.logged('login.refused');

    expect(existsSync(escaped)).toBe(false);
  });

  it('refuses a command in its sandbox whose socket is on its way while it is looked for', async () => {
    await using fixture = await SandboxFixture.open(account);

    const { status, body } = await askInside(fixture, 'in-flight');

    expect({ status, body }).toEqual({
      status: 403,
      body: expect.stringMatching(/from (a )?sandboxed command/),
    });
  });

  it.each([
    ['relay', 'from parent to child'],
    ['ping-pong', 'between two processes'],
  ])('refuses a command in its sandbox whose socket passes on all the time (%s: %s)', async (mode) => {
    await using fixture = await SandboxFixture.open(account);
    await using hidden = await undumpableProcess(account.uid); // one of many that could be the peer
    expect(hidden).toBeDefined();

    const { status, body } = await askInside(fixture, mode);

    expect({ status, body }).toEqual({
      status: 403,
      body: expect.stringMatching(/from (a )?sandboxed command/),
    });
  });

  it('refuses its own commands outside a sandbox unless they have a token', async () => {
    await using open = await SandboxFixture.open(account);
    await using guarded = await SandboxFixture.open(account, {}, withToken);
    const ask = async (fixture: SandboxFixture, ...token: string[]) => {
      const argv = [peerProbe(), 'plain', portOf(fixture.server.url), ...token];
      const child = await fixture.client.start({ argv });
      await child.closed();
      return answerIn(child.output('stdout'));
    };

    expect(await ask(open)).toMatchObject({
      status: 403,
      body: expect.stringContaining('connections from commands of this server are not served'),
    });
    expect(await ask(guarded, TOKEN)).toMatchObject({ status: 101 });
  });

  it.skipIf(!isRoot)('refuses other users unless they have a token (another user needs root)', async () => {
    await using open = await SandboxFixture.open(account);
    await using guarded = await SandboxFixture.open(account, {}, withToken);

    expect(await probe(open.server.url, { uid: STRANGER })).toMatchObject({
      status: 403,
      body: expect.stringContaining(`connections of user ${STRANGER} are not served`),
    });
    expect(await probe(guarded.server.url, { uid: STRANGER })).toMatchObject({ status: 401 });
    expect(await probe(guarded.server.url, { uid: STRANGER, token: TOKEN })).toMatchObject({ status: 101 });
  });

  it('refuses other containers unless they have a token', async () => {
    await using open = await SandboxFixture.open(account);
    await using guarded = await SandboxFixture.open(account, {}, withToken);

    expect(await probe(open.server.url, { within: container, ...asAccount })).toMatchObject({
      status: 403,
      body: expect.stringContaining('connections from other containers are not served'),
    });
    expect(await probe(guarded.server.url, { within: container, token: TOKEN, ...asAccount })).toMatchObject({
      status: 101,
    });
  });

  it('serves processes of its own user and of root, also those it cannot look at', async () => {
    await using fixture = await SandboxFixture.open(account);

    expect(await probe(fixture.server.url, asAccount)).toMatchObject({ status: 101 });
    expect(await probe(fixture.server.url)).toMatchObject({ status: 101 });
    expect(await probe(fixture.server.url, { mode: 'undumpable', ...asAccount })).toMatchObject({ status: 101 });
  });

  it('serves a process that it cannot look at while a sandbox shares its network', async () => {
    await using fixture = await SandboxFixture.open(account);
    const script = 'sleep 1000 & echo up; read -r line; kill $!; wait; echo "went on: $line"';
    const command = await fixture.start(script, { ...inSandbox, stdin: 'open' });
    await command.printed('up');

    expect(await probe(fixture.server.url, { mode: 'undumpable', ...asAccount })).toMatchObject({ status: 101 });
    await using client = await connect(fixture.server.url);
    expect(await client.call('environment/info', {})).toBeDefined();

    const chunk = Buffer.from('told\n').toString('base64');
    await fixture.client.call('process/write', { processId: command.id, chunk });
    await command.printed('went on: told'); // it has stood still, and does not any more
  });

  it('is not held up by a command in its sandbox that executes programs while it is stopped', async () => {
    await using fixture = await SandboxFixture.open(account);
    const bystander = await fixture.start(`${peerProbe()} notice 0`, { ...inSandbox, stdin: 'open' });
    await bystander.printed('here');
    const storm = Array.from({ length: 3 }, () => `${peerProbe()} execs 0 &`).join(' ');
    const ask = `${peerProbe()} in-flight ${portOf(fixture.server.url)}`;

    const { stdout } = await fixture.run(`${storm} for n in 1 2 3 4; do ${ask}; done; kill $(jobs -p)`, inSandbox);

    expect(stdout.match(/^HTTP\/1.1 403/gm)).toHaveLength(4);
    await fixture.client.call('process/write', { processId: bystander.id, chunk: Buffer.from('?').toString('base64') });
    await bystander.printed('told');
  });

  it.skipIf(!isRoot)('does not stop its sandboxes for other users (another user needs root)', async () => {
    await using fixture = await SandboxFixture.open(account);
    const command = await fixture.start(`${peerProbe()} notice 0`, { ...inSandbox, stdin: 'open' });
    await command.printed('here');

    expect(await probe(fixture.server.url, { uid: STRANGER })).toMatchObject({ status: 403 });

    await fixture.client.call('process/write', { processId: command.id, chunk: Buffer.from('?').toString('base64') });
    await command.printed('told');
    expect(command.output('stdout')).toBe('here\ntold\n');
  });
});
