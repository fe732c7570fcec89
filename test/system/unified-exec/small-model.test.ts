import { describe, expect, it } from 'vitest';
import { ExecFixture } from './fixture.ts';

describe('a model that takes little', () => {
  it('is told of a patch of many files how many lines there would be, and as much as it takes', async () => {
    await using box = await ExecFixture.open('here', { modelOutputTokens: 200 });
    const files = Array.from({ length: 60 }, (_, index) => `*** Add File: made-${index}.txt\n+one`);

    const { text, structured } = await box.run(
      `apply_patch <<'EOF'\n*** Begin Patch\n${files.join('\n')}\n*** End Patch\nEOF\n`,
    );

    expect(text).toMatch(
      /^Wall time: 0.0000 seconds\nOutput:\nWarning: truncated output \(original token count: 22\d\)\nTotal output lines: 60\n\nExit code: 0\nWall time: [\d.]+ seconds\nTotal output lines: 61\nOutput:\nSuccess. Updated the following files:\nA made-0.txt\n/,
    );
    expect(text).toMatch(/…\d+ tokens truncated….*\nA made-59.txt\n$/s);
    expect(structured?.output).toContain('…17 tokens truncated…');
  });

  it('gets no longer answer than it takes and a fifth more, whatever it is about', async () => {
    await using box = await ExecFixture.open('here', { modelOutputTokens: 33 });

    const { text, success } = await box.call('exec_command', { cmd: 'true', environment_id: 'q'.repeat(400) });

    const [start, end] = ['unknown turn environment id `'.padEnd(80, 'q'), '`'.padStart(80, 'q')];
    expect({ text, success }).toEqual({ text: `${start}…68 tokens truncated…${end}`, success: false });
  });
});
