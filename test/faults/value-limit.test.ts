import { describe, expect, it } from 'vitest';
import { peakMiB } from '../support/proc.ts';
import { survives, usual } from './fault-rig.ts';

describe('a message of 60 MiB with millions of values', () => {
  it(
    'is refused where the first value too many begins, before anything is built from it',
    survives(usual, async (rig) => {
      await using sender = await rig.connect();
      const head = '{"id":6,"method":"environment/status","params":[';
      const items = Buffer.alloc(60 * 1024 * 1024 - head.length - 4, '{},');
      sender.raw(Buffer.concat([Buffer.from(head), items, Buffer.from('0]}')]).toString());
      const refused = await sender.strayUntil((message) => 'id' in message && message.id === -1);
      // Of the 262144 values four are outside the list, and each item takes three bytes.
      expect(refused).toMatchObject({
        error: {
          code: -32600,
          message: expect.stringMatching(
            /: JSON-RPC message exceeds the limit of 262144 JSON values at line 1 column 786468$/,
          ),
        },
      });
      expect(peakMiB(rig.pid)).toBeLessThan(400);
    }),
  );

  it(
    'keeps no other client waiting longer than the bytes take to arrive',
    survives(usual, async (rig) => {
      await using sender = await rig.connect();
      await using other = await rig.connect();
      const items = Buffer.alloc(60 * 1024 * 1024, '{},');
      sender.raw(`{"id":6,"method":"environment/status","params":[${items}0]}`);
      let longestMs = 0;
      let refused = false;
      void sender
        .strayUntil((message) => 'id' in message && message.id === -1)
        .then(() => {
          refused = true;
        });
      while (!refused) {
        const asked = performance.now();
        await other.call('environment/status');
        longestMs = Math.max(longestMs, performance.now() - asked);
      }
      expect(longestMs).toBeLessThan(500);
    }),
  );
});
