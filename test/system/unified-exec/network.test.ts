import { describe, expect, it } from 'vitest';
import { type ApprovalDecision, callbackApprover, Orchestrator } from '../../../src/agent/approval/index.ts';
import { RulesStore } from '../../../src/agent/rules/index.ts';
import { localBackend } from '../../../src/agent/unified-exec/index.ts';
import { deferred } from '../../../src/base/index.ts';
import { testHost } from '../../support/host.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { networkRules } from '../../support/network-rules.ts';
import { ExecFixture, type Place } from './fixture.ts';

const places: Place[] = ['here', 'server'];

const network = networkRules({ allowLocalBinding: true });

/** Shell that asks the proxy for some hosts at once and prints the status of each answer. */
function fetches(...hosts: string[]): string {
  const script = `
    const { request } = require('node:http');
    const { hostname, port } = new URL(process.env.HTTP_PROXY);
    for (const host of process.argv.slice(1)) {
      const wanted = { hostname, port, path: 'http://' + host + '/', agent: false };
      request(wanted, (answer) => console.log(answer.resume().statusCode)).end();
    }`;
  return `'${process.execPath}' -e '${script.replaceAll("'", '"')}' ${hosts.join(' ')}`;
}

const denial = 'Network access was denied by the Codex sandbox network proxy.';

async function orchestrator(answer: (host: string) => ApprovalDecision | Promise<ApprovalDecision>) {
  const asked: string[] = [];
  const approver = callbackApprover(async (question) => {
    if (question.kind !== 'network') throw new Error(`asked about ${question.kind}`);
    asked.push(`${question.protocol} ${question.host}:${question.port}`);
    return { decision: await answer(question.host) };
  });
  return {
    asked,
    orchestrator: new Orchestrator({ policy: 'on-request', approver, rules: await RulesStore.open({}) }),
  };
}

describe.each(places)('commands with a managed network, run %s', (place) => {
  it('are ended when the user refuses a host, and say why', async () => {
    const { asked, orchestrator: decides } = await orchestrator(() => 'decline');
    await using box = await ExecFixture.open(place, { settings: { network }, orchestrator: decides });

    const { text } = await box.run(`${fetches('refused.test')}; sleep 1000`, { yield_time_ms: 30_000 });

    expect(text).toBe(`exec_command failed: ProcessFailed { message: "${denial}" }`);
    expect(asked).toEqual(['http refused.test:80']);
    expect(await box.event('ExecCommandEnd')).toMatchObject({ status: 'failed', exit_code: -1, stderr: denial });
    expect(box.exec.sessions).toEqual([]);
  });

  it('ask once about a host that they want twice at the same time, and go on when the user agrees', async () => {
    await using upstream = await HttpUpstream.start((_, answer) => answer.end());
    const { asked, orchestrator: decides } = await orchestrator(() => 'acceptForSession');
    await using box = await ExecFixture.open(place, { settings: { network }, orchestrator: decides });
    const { host } = new URL(upstream.url);

    const { facts } = await box.run(fetches(host, host), { yield_time_ms: 30_000 });

    expect(facts).toMatchObject({ exit_code: 0, output: '200\n200\n' });
    expect(asked).toEqual([`http ${host}`]);
  });

  it('have their window stand still while the user is asked', async () => {
    await using upstream = await HttpUpstream.start((_, answer) => answer.end());
    const answer = deferred<ApprovalDecision>();
    const question = deferred();
    const { orchestrator: decides } = await orchestrator(() => {
      question.resolve();
      return answer.promise;
    });
    await using box = await ExecFixture.open(place, { settings: { network }, orchestrator: decides });

    const call = box.run(`${fetches(new URL(upstream.url).host)}; echo done`, { yield_time_ms: 1000 });
    await question.promise;
    const early = await Promise.race([call.then(() => 'answered'), elapsed(1300).then(() => 'waits')]);
    answer.resolve('accept');

    expect(early).toBe('waits');
    expect(await box.shows(await call, /done/)).toBe('200\ndone\n');
  });
});

describe('a command with a managed network', () => {
  it('is refused where the server cannot manage it', async () => {
    const old = localBackend({ host: testHost() });
    const info = { shell: { name: 'sh', path: '/bin/sh' } };
    const backend = Object.assign(old, { info: () => Promise.resolve(info) });
    await using box = await ExecFixture.open('here', { backends: { box: backend }, settings: { network } });

    const { text, success } = await box.run('true');

    expect({ text, success }).toEqual({
      text: 'environment `box` cannot manage the network of commands',
      success: false,
    });
  });
});

/** Longer than the window: what is tested is that this time does not count. */
const elapsed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
