import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import type { ExecServerClient } from '../../../src/client/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { type FrameFault, HostileNetwork } from '../../relay/hostile-network.ts';
import type { Carrier } from '../../relay/memory-transport.ts';
import { numbersTo, sha256 } from '../../support/digest.ts';
import type { FrameDirection } from '../../support/frame-proxy.ts';
import { echo, meet } from './faults-fixture.ts';

const everyDirection: readonly FrameDirection[] = ['from harness', 'to environment', 'from environment', 'to harness'];
const afterPassing = (frames: number, ...then: readonly FrameFault[]): FrameFault[] => [
  ...Array.from({ length: frames }, (): FrameFault => ({ type: 'pass' })),
  ...then,
];

/** Reads many small files at once, so that many small frames come back: more than may wait for one that is missing. */
class SmallFiles {
  readonly #contents = Array.from({ length: 120 }, () => randomBytes(200));
  readonly #paths: readonly string[];

  private constructor(folder: string) {
    this.#paths = this.#contents.map((_, at) => join(folder, `${at}`));
  }

  static async make(scope: Scope): Promise<SmallFiles> {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-relay-'));
    scope.defer(() => rm(folder, { recursive: true }));
    const files = new SmallFiles(folder);
    await Promise.all(files.#contents.map((content, at) => writeFile(files.#paths[at]!, content)));
    return files;
  }

  get digest(): string {
    return sha256(Buffer.concat(this.#contents));
  }

  async read(client: ExecServerClient): Promise<string> {
    const read = (path: string) => client.request('fs/readFile', { path: PathUri.fromNative(path) });
    const answers = await Promise.all(this.#paths.map(read));
    return sha256(Buffer.concat(answers.map(({ dataBase64 }) => dataBase64)));
  }
}

describe('frames that are lost', () => {
  it.each(everyDirection)('%s are repeated where deliveries are acknowledged', async (direction) => {
    await using scope = new Scope();
    const { network, connect, streams } = await meet(scope, { reliable: true });
    const client = await connect();
    const bytes = randomBytes(3_000_000);
    const drops = afterPassing(5, { type: 'drop' }, { type: 'drop' }, ...afterPassing(20, { type: 'drop' }));
    network.data[direction] = new HostileNetwork(drops).carry;

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toBe(1);
  });

  it.each(['from environment', 'to harness'] as const)(
    '%s end the stream otherwise, and the session makes up for them',
    async (direction) => {
      await using scope = new Scope();
      const files = await SmallFiles.make(scope);
      const { network, connect, streams } = await meet(scope, { reliable: false });
      const client = await connect();
      network.data[direction] = new HostileNetwork(afterPassing(10, { type: 'drop' })).carry;

      expect(await files.read(client)).toBe(files.digest);
      expect(streams()).toBe(2);
    },
  );
});

describe('frames that come twice', () => {
  it.each([true, false])('on every direction are taken once, with acknowledged delivery: %s', async (reliable) => {
    await using scope = new Scope();
    const { network, connect, streams } = await meet(scope, { reliable });
    const client = await connect();
    const twice: Carrier = (frame, deliver) => {
      deliver(frame);
      deliver(frame);
    };
    for (const direction of everyDirection) network.data[direction] = twice;
    const bytes = randomBytes(2_000_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toBe(1);
  });
});

describe('frames that come late', () => {
  it.each([true, false])(
    'but in order, cost time and nothing else, with acknowledged delivery: %s',
    async (reliable) => {
      await using scope = new Scope();
      const { network, connect, streams } = await meet(scope, { reliable });
      const client = await connect();
      for (const direction of everyDirection) {
        network.data[direction] = (frame, deliver) => void setTimeout(deliver, 25, frame);
      }
      const bytes = randomBytes(1_000_000);

      expect(await echo(client, bytes)).toBe(sha256(bytes));
      expect(streams()).toBe(1);
    },
  );

  // An acknowledged stream has 64 frames under direction at most, so that the 65th cannot overtake.
  it.each([
    { by: 64, reliable: false, opened: 1 },
    { by: 65, reliable: false, opened: 2 },
    { by: 64, reliable: true, opened: 1 },
    { by: 65, reliable: true, opened: 1 },
  ])('overtaken by $by others, with acknowledged delivery: $reliable, lead to $opened streams', async (expected) => {
    await using scope = new Scope();
    const files = await SmallFiles.make(scope);
    const { network, connect, streams } = await meet(scope, expected);
    const client = await connect();
    network.data['to harness'] = new HostileNetwork(afterPassing(10, { type: 'delay', by: expected.by })).carry;

    expect(await files.read(client)).toBe(files.digest);
    expect(streams()).toBe(expected.opened);
  });
});

describe('a socket that is lost', () => {
  /** Cuts now and then; without acknowledgements only what an environment still keeps, 1 MiB, can be made up for. */
  async function printAcross(client: ExecServerClient, numbers: number, cut: () => void): Promise<string> {
    const process = await client.start({ argv: ['seq', '1', `${numbers}`] });
    const seen: Uint8Array[] = [];
    let bytes = 0;
    let cuts = 0;
    for await (const chunk of process.output) {
      seen.push(chunk.bytes);
      bytes += chunk.bytes.length;
      if (bytes < (cuts + 1) * 300_000) continue;
      cuts++;
      cut();
    }
    expect(cuts).toBeGreaterThan(0);
    return sha256(Buffer.concat(seen));
  }

  it.each(['harness', 'environment', 'both'] as const)(
    'by %s leaves an acknowledged stream as it was',
    async (side) => {
      await using scope = new Scope();
      const { network, connect, streams } = await meet(scope, { reliable: true });
      const cut = (): void => network.cut(side === 'both' ? undefined : side);

      expect(await printAcross(await connect(), 300_000, cut)).toBe(sha256(numbersTo(300_000)));
      expect(streams()).toBe(1);
    },
  );

  it.each(['harness', 'environment'] as const)('by %s ends another stream, not its session', async (side) => {
    await using scope = new Scope();
    const { network, connect, streams } = await meet(scope, { reliable: false });

    const client = await connect();

    expect(await printAcross(client, 100_000, () => network.cut(side))).toBe(sha256(numbersTo(100_000)));
    await client.request('environment/info', null); // all may have been here before the cut
    expect(streams()).toBeGreaterThan(1);
  });
});
