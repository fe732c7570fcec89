import { expect, it } from 'vitest';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';
import type { Message } from './wire-log.ts';
import type { Disguise } from './wire-tap.ts';

const served = /^(initialize|initialized|environment\/info|process\/.*)$/;

/** Makes any server look like one that knows processes and nothing else. */
const processesOnly: Disguise = {
  answer: ({ id, method }: Message) =>
    id === undefined || method === undefined || served.test(method)
      ? undefined
      : { id, error: { code: -32601, message: `unknown method ${method}` } },
  alter: (message) =>
    message.result?.environmentInfo
      ? {
          ...message,
          result: { ...message.result, environmentInfo: { ...message.result.environmentInfo, capabilities: {} } },
        }
      : message,
};

it('the real client works with a server that offers processes and nothing else', async () => {
  await using rig = await Rig.start(CodexExec, { disguise: processesOnly });

  expect(await rig.model.exec('echo out; exit 3')).toMatchObject({ exitCode: 3, output: 'out\n' });
  const cat = await rig.model.open('exec cat', { tty: true });
  await cat.type('hello\n');
  await cat.shows(/hello\r\nhello\r\n/);
  await cat.type('\u0004');
  expect((await cat.end()).exitCode).toBe(0);
  await rig.finish();

  // It looks for project files and skills all the same (how far it gets before it ends varies), and asks nothing else.
  const unserved = [...rig.wire.methods()].filter((method) => !served.test(method));
  expect(unserved).toContain('fs/getMetadata');
  expect(unserved.filter((method) => !/^fs\/(getMetadata|canonicalize|walk)$/.test(method))).toEqual([]);
});
