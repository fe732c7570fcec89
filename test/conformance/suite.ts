import { describe, it } from 'vitest';
import { replay, type Target } from './target.ts';
import { loadTranscripts } from './transcript.ts';

/** Transcripts that wait through the real retention and keepalive times. */
const slow = new Set(['process-retention', 'resume-expired', 'resume-within-window', 'server-keepalive']);

/** One test per transcript. The slow ones come first, so that the others run while they wait. */
export function describeConformance(name: string, target: () => Target | Promise<Target>): void {
  describe.concurrent(name, { timeout: 120_000 }, async () => {
    const server = await target();
    const transcripts = loadTranscripts().sort((a, b) => Number(slow.has(b.scenario)) - Number(slow.has(a.scenario)));
    for (const transcript of transcripts) {
      const title = `replays ${transcript.scenario}: ${transcript.note}`;
      it(title, () => replay(server, transcript));
    }
  });
}
