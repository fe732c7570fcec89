import { expect, it } from 'vitest';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';

it('a terminal of the real client is real: it has a size, echoes, and turns control characters into events', async () => {
  await using rig = await Rig.start(CodexExec);

  const cat = await rig.model.open('test -t 0 && test -t 1 && echo is-a-tty; stty size; exec cat', { tty: true });
  await cat.shows(/is-a-tty\r\n24 80\r\n/);
  await cat.type('hello there\n');
  await cat.shows(/hello there\r\nhello there\r\n/);
  await cat.type('\u0004');
  expect((await cat.end()).exitCode).toBe(0);

  const loop = await rig.model.open("trap 'echo got-int; exit 42' INT; echo armed; while :; do sleep 0.05; done", {
    tty: true,
  });
  await loop.shows(/armed/);
  await loop.type('\u0003');
  const end = await loop.end();
  expect(end.exitCode).toBe(42);
  expect(end.output).toContain('got-int');
  await rig.finish();

  const writes = rig.wire.requests('process/write');
  expect(rig.wire.requests('process/start').map(({ params }) => params.tty)).toEqual([true, true]);
  expect(writes.map(({ params }) => Buffer.from(params.chunk ?? '', 'base64').toString())).toEqual([
    'hello there\n',
    '\u0004',
    '\u0003',
  ]);
  expect(writes.map((write) => rig.wire.answerTo(write)?.result?.status)).toEqual(['accepted', 'accepted', 'accepted']);
  expect(new Set(rig.wire.notifications('process/output').map(({ params }) => params.stream))).toEqual(
    new Set(['pty']),
  );
});
