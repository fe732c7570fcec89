import { megabytesPerSecond, type Transfer, transfer } from '../transfer.ts';
import { higher, lower, openWarmClient, type Workload } from '../workload.ts';

export const lines: Workload = {
  about: '`seq`, block-buffered, and with one write per line (pipe, terminal)',
  async run({ server, scale }) {
    using client = await openWarmClient({ server });
    const count = scale.lineWrites;
    const seq = (last: number) => ['/usr/bin/seq', '1', String(last)];
    const blocks = await transfer(server, client, { argv: seq(scale.lines), bytes: seqBytes(scale.lines) });
    const unbuffered = ['/usr/bin/stdbuf', '-oL', ...seq(count)];
    const pipe = await transfer(server, client, { argv: unbuffered, bytes: seqBytes(count) });
    // A terminal makes \r\n of every newline.
    const tty = await transfer(server, client, { argv: seq(count), bytes: seqBytes(count) + count, tty: true });

    const rate = ({ seconds }: Transfer) => higher(count / seconds / 1000, 'klines/s');
    const cpu = ({ serverCpuSeconds }: Transfer) => lower((serverCpuSeconds / count) * 1e6, 'us/line');
    return {
      figures: {
        'block-buffered': higher(megabytesPerSecond(blocks), 'MB/s'),
        'line writes, pipe': rate(pipe),
        'line writes, pipe, cpu': cpu(pipe),
        'line writes, tty': rate(tty),
        'line writes, tty, cpu': cpu(tty),
      },
    };
  },
};

/** The size of what `seq 1 last` prints. */
function seqBytes(last: number): number {
  let bytes = 0;
  for (let digits = 1, from = 1; from <= last; digits++, from *= 10) {
    bytes += (Math.min(last, from * 10 - 1) - from + 1) * (digits + 1);
  }
  return bytes;
}
