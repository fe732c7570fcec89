import { describe, expect, it } from 'vitest';
import { newChunkId, outputBudget, responseText, structuredResult, withinModel } from './response.ts';

const printed = (text: string) => ({ text, totalBytes: Buffer.byteLength(text), omittedBytes: 0 });

describe('the answer to a call', () => {
  it('says what is known, line by line, and then the output', () => {
    const report = { chunkId: '8225cf', wallTimeMs: 336.14, exitCode: 3, output: printed('x'.repeat(1731)) };
    expect(responseText(report, 10_000, 10_000)).toBe(
      `Chunk ID: 8225cf\nWall time: 0.3361 seconds\nProcess exited with code 3\nOriginal token count: 433\nOutput:\n${'x'.repeat(1731)}`,
    );
  });

  it('names the session while the command runs', () => {
    const report = { chunkId: '8225cf', wallTimeMs: 0, sessionId: 93547, output: printed('') };
    expect(responseText(report, 10_000, 10_000)).toBe(
      'Chunk ID: 8225cf\nWall time: 0.0000 seconds\nProcess running with session ID 93547\nOriginal token count: 0\nOutput:\n',
    );
  });

  it('has neither chunk nor count where no command ran', () => {
    expect(responseText({ wallTimeMs: 0, output: printed('done') }, 10, 10)).toBe(
      'Wall time: 0.0000 seconds\nOutput:\ndone',
    );
  });

  it('stays within 1.2 times what the model takes, header included', () => {
    const report = { chunkId: '8225cf', wallTimeMs: 0, exitCode: 0, output: printed('y'.repeat(10_000)) };
    const text = responseText(report, 100, 100);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(480);
    expect(text).toContain('tokens truncated');
  });

  it('loses its middle where even that is too long, whatever it says', () => {
    const complaint = `unknown turn environment id \`${'q'.repeat(400)}\``;
    expect(withinModel(complaint, 33)).toBe(`${complaint.slice(0, 80)}…68 tokens truncated…${complaint.slice(-80)}`);
    expect(withinModel(complaint, 90)).toBe(complaint);
  });

  it('comes as values too', () => {
    const report = { chunkId: '8225cf', wallTimeMs: 1500, exitCode: 0, output: printed('hi') };
    expect(structuredResult(report, 10)).toEqual({
      chunk_id: '8225cf',
      wall_time_seconds: 1.5,
      exit_code: 0,
      original_token_count: 1,
      output: 'hi',
    });
  });

  it('has the budget asked for, up to what the model takes', () => {
    expect([outputBudget(undefined, 50_000), outputBudget(1_000_000, 10_000), outputBudget(7, 10_000)]).toEqual([
      10_000, 10_000, 7,
    ]);
  });

  it('is named by six hexadecimal digits', () => {
    expect(newChunkId()).toMatch(/^[0-9a-f]{6}$/);
  });
});
