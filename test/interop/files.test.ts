import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';

/** One grey pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGOoBwAAgQCA05RTSgAAAABJRU5ErkJggg==';

describe('files of the real client', () => {
  it('are added, edited, moved and deleted by a patch', async () => {
    await using rig = await Rig.start(CodexExec, {
      sandbox: 'workspace-write',
      prepare: async (workspace) => {
        await workspace.write('edit.txt', 'one\ntwo\nthree\n');
        await workspace.write('gone.txt', 'bye\n');
        await workspace.write('old-name.txt', 'alpha\nbeta\n');
      },
    });

    const patched = await rig.model.patch(
      ...['*** Add File: deep/er/new.txt', '+first line', '+zweite Zeile ü'],
      ...['*** Update File: edit.txt', '@@', ' one', '-two', '+TWO', ' three'],
      ...['*** Update File: old-name.txt', '*** Move to: new-name.txt', '@@', ' alpha', '-beta', '+gamma'],
      '*** Delete File: gone.txt',
    );
    const unfit = await rig.model.patch('*** Update File: edit.txt', '@@', '-not there', '+x');
    const seen = await rig.model.exec('cat edit.txt deep/er/new.txt; ls');
    await rig.finish();

    expect(patched.exitCode).toBe(0);
    expect(patched.output).toContain('A deep/er/new.txt\nM edit.txt\nM new-name.txt\nD gone.txt\n');
    expect(unfit.text).toContain('apply_patch verification failed');
    expect(seen.output).toBe('one\nTWO\nthree\nfirst line\nzweite Zeile ü\ndeep\nedit.txt\nnew-name.txt\n');
    expect(await rig.workspace.read('new-name.txt')).toBe('alpha\ngamma\n');
    expect(rig.wire.requests('fs/writeFile').length).toBeGreaterThan(0);
  });

  it('are fetched to be looked at, and a missing one is a message to the model', async () => {
    await using rig = await Rig.start(CodexExec, {
      prepare: (workspace) => workspace.write('dot.png', Buffer.from(png, 'base64')),
    });

    const image = await rig.model.viewImage(join(rig.workspace.cwd, 'dot.png'));
    const missing = await rig.model.viewImage(join(rig.workspace.cwd, 'nope.png'));
    await rig.finish();

    expect(JSON.parse(image.text)).toEqual([
      expect.objectContaining({
        type: 'input_image',
        image_url: expect.stringMatching(/^data:image\/png;base64,iVBOR/),
      }),
    ]);
    expect(missing.text).toMatch(/unable to locate image at .*nope\.png.*No such file or directory/);
    expect(rig.wire.requests('fs/readFile').length).toBeGreaterThan(0);
  });
});
