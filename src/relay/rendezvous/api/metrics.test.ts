import { describe, expect, it } from 'vitest';
import { Metrics } from './metrics.ts';

describe('metrics', () => {
  it('are written in the text format of Prometheus', () => {
    const metrics = new Metrics();
    metrics.add('rendezvous_resets_total', { reason: 'frame_lost' });
    metrics.add('rendezvous_resets_total', { reason: 'frame_lost' });
    metrics.series('rendezvous_bytes_total', { direction: 'to_harness' }).value += 10;
    metrics.gauge('rendezvous_sockets', 'Open sockets.', () => [
      { labels: { role: 'a "quoted" \\ one' }, value: 3 },
      { labels: {}, value: 4 },
    ]);
    const lines = metrics.text().split('\n');

    expect(lines).toContain('# TYPE rendezvous_resets_total counter');
    expect(lines).toContain('rendezvous_resets_total{reason="frame_lost"} 2');
    expect(lines).toContain('rendezvous_bytes_total{direction="to_harness"} 10');
    expect(lines.slice(-5)).toEqual([
      '# HELP rendezvous_sockets Open sockets.',
      '# TYPE rendezvous_sockets gauge',
      'rendezvous_sockets{role="a \\"quoted\\" \\\\ one"} 3',
      'rendezvous_sockets 4',
      '',
    ]);
  });
});
