import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { spawn } from '../../os/index.ts';
import { stageProgram, stageRequest } from './stage.ts';

const io = { type: 'pipe', stdin: 'closed' } as const;
const command = { argv: ['/bin/sh', '-c', 'exit $CODE'], cwd: '/', env: { CODE: '7' }, io };
const request = stageRequest(command);

async function outcomeOf(bytes: Buffer): Promise<unknown> {
  await using child = spawn({ argv: [stageProgram(), 'run', '3'], cwd: '/', env: {}, io, mark: 0n, inherit: [bytes] });
  return await child.exited;
}

describe('the last stage before a sandboxed command', () => {
  it('runs what is requested', async () => {
    expect(await outcomeOf(request)).toEqual({ code: 7 });
  });

  it('runs nothing in another directory than the one it is pinned to', async () => {
    const { dev, ino } = statSync('/', { bigint: true });
    const pinned = (cwdIdentity: string) =>
      outcomeOf(stageRequest({ argv: ['/bin/sh', '-c', 'exit 7'], cwd: '/', cwdIdentity, env: {}, io }));
    expect(await pinned(`${dev}:${ino}`)).toEqual({ code: 7 });
    expect(await pinned(`${dev}:${ino + 1n}`)).toEqual({ code: 1 });
    expect(await pinned('nowhere')).toEqual({ code: 1 });
  });

  it('runs nothing unless everything is mounted where it should be', async () => {
    const mounted = (path: string, pin: string) => outcomeOf(stageRequest(command, { mounts: [{ path, pin }] }));
    const { dev, ino } = statSync('/dev', { bigint: true });
    expect(await mounted('/dev', `${dev}:${ino}`)).toEqual({ code: 7 });
    expect(await mounted('/dev', '-')).toEqual({ code: 7 });
    expect(await mounted('/dev', `${dev}:${ino + 1n}`)).toEqual({ code: 1 });
    expect(await mounted('/dev', 'nowhere')).toEqual({ code: 1 });
    expect(await mounted('/dev/fd', '-')).toEqual({ code: 1 }); // a link
    expect(await mounted('/usr', '-')).toEqual({ code: 1 });
    expect(await mounted('/missing', '-')).toEqual({ code: 1 });
  });

  it('runs nothing when the request is cut off, wherever that is', async () => {
    for (let length = 0; length < request.length; length++) {
      expect(await outcomeOf(request.subarray(0, length)), `${length} bytes`).toEqual({ code: 1 });
    }
  });
});
