import { openWarmClient, timeEach, verify, type Workload } from '../workload.ts';

export const firstByte: Workload = {
  about: '`printf x` to the first `process/output`',
  async run(context) {
    using client = await openWarmClient(context);
    const { scale } = context;
    const samples: { pipe: number[]; tty: number[] } = { pipe: [], tty: [] };
    for (let i = 0; i < scale.spawns; i++) {
      for (const kind of ['pipe', 'tty'] as const) {
        const process = client.start({ argv: ['/usr/bin/printf', 'x'], tty: kind === 'tty' });
        await process.closed;
        verify(process.bytes === 1, `${process.bytes} bytes instead of one`);
        samples[kind].push(process.firstByteAt - process.startedAt);
      }
    }
    return { samples };
  },
};

export const echo: Workload = {
  about: '`cat` behind a pipe and behind a raw terminal: write to output',
  async run(context) {
    using client = await openWarmClient(context);
    const { scale } = context;

    const echoes = async (tty: boolean): Promise<number[]> => {
      const argv = tty ? ['/bin/sh', '-c', 'stty raw -echo; printf R; exec cat'] : ['/bin/cat'];
      const process = client.start({ argv, tty, pipeStdin: !tty });
      await process.response;
      if (tty) await process.received(1);
      const took = await timeEach(scale.echoes, async (i) => {
        const echoed = process.received(process.bytes + 6);
        client.write(process, 'hello\n', `w${i}`).catch((error) => process.fail(error));
        await echoed;
      });
      await client.terminate(process);
      await process.closed;
      return took;
    };

    return { samples: { pipe: await echoes(false), tty: await echoes(true) } };
  },
};
