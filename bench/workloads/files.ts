import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileUri, MiB } from '../fixtures.ts';
import { decodeChunk, decodedLength } from '../tracked-process.ts';
import {
  type Figure,
  higher,
  inFlight,
  lower,
  openWarmClient,
  timeEach,
  verify,
  type Workload,
  type WorkloadContext,
} from '../workload.ts';

const quote = 0x22;
const sandbox = null;

export const fsSmall: Workload = {
  about: 'getMetadata, readFile and writeFile of 1 KiB, canonicalize; 32 in flight',
  async run({ server, fixtures, scale }) {
    using client = await openWarmClient({ server });
    const calls = scale.smallFileCalls;
    const source = { path: fileUri(fixtures.file1K), sandbox };
    const content = readFileSync(fixtures.file1K).toString('base64');
    const target = join(fixtures.work, 'written-1k');
    const write = { path: fileUri(target), dataBase64: content, sandbox };
    const readFile = async () => {
      const { dataBase64 } = await client.call<{ dataBase64: string }>('fs/readFile', source);
      verify(dataBase64 === content, 'fs/readFile of 1 KiB');
    };
    const getMetadata = () => client.call('fs/getMetadata', source);

    const samples = {
      'first 200 getMetadata': await timeEach(200, getMetadata),
      getMetadata: await timeEach(calls, getMetadata),
      'readFile 1K': await timeEach(calls, readFile),
      'writeFile 1K': await timeEach(calls, () => client.call('fs/writeFile', write)),
      canonicalize: await timeEach(calls, () => client.call('fs/canonicalize', source)),
    };
    verify(readFileSync(target).toString('base64') === content, 'fs/writeFile of 1 KiB');
    const metadataSeconds = await inFlight(calls * 20, 32, getMetadata);
    const readSeconds = await inFlight(calls * 20, 32, readFile);
    return {
      samples,
      figures: {
        'getMetadata x32': higher((calls * 20) / metadataSeconds, 'req/s'),
        'readFile 1K x32': higher((calls * 20) / readSeconds, 'req/s'),
      },
    };
  },
};

export const fsBulk: Workload = {
  about: 'readFile of 1 and 64 MiB, writeFile of 1 and 8 MiB, peak memory, readBlock streaming',
  async run(context) {
    const { server, fixtures, scale } = context;
    using client = await openWarmClient({ server });
    const large = Buffer.from(readFileSync(fixtures.file64M).toString('base64'));
    const medium = Buffer.from(readFileSync(fixtures.file1M).toString('base64'));
    // The reference server closes the connection on a frame above 16 MiB.
    const bytes8M = Math.floor((8 * MiB) / 3) * 3;
    const part8M = large.subarray(0, (bytes8M / 3) * 4);
    const target = join(fixtures.work, 'written-bulk');

    const readFile = async (path: string, content: Buffer) => {
      const response = await client.callForBytes('fs/readFile', { path: fileUri(path), sandbox });
      const start = response.indexOf('"dataBase64":"') + '"dataBase64":"'.length;
      verify(response.subarray(start, start + content.length).equals(content), `fs/readFile of ${path}`);
    };
    const writeFile = (content: Buffer) =>
      client.callWithBase64('fs/writeFile', { path: fileUri(target), sandbox }, 'dataBase64', content);
    const verifyWritten = (bytes: number) =>
      verify(
        readFileSync(target).equals(readFileSync(fixtures.file64M).subarray(0, bytes)),
        `fs/writeFile of ${bytes}`,
      );

    const read1M = await timeEach(scale.mediumFileCalls, () => readFile(fixtures.file1M, medium));
    const first1M = await timeEach(scale.mediumFileCalls, () => writeFile(medium));
    const write1M = await timeEach(scale.mediumFileCalls * 4, () => writeFile(medium));
    verifyWritten(MiB);
    server.use.resetPeak();
    const read64M = await timeEach(scale.largeFileCalls, () => readFile(fixtures.file64M, large));
    const readPeak = server.use.memory().peakRssMiB;
    server.use.resetPeak();
    const first8M = await timeEach(scale.largeFileCalls, () => writeFile(part8M));
    const write8M = await timeEach(scale.largeFileCalls * 4, () => writeFile(part8M));
    const writePeak = server.use.memory().peakRssMiB;
    verifyWritten(bytes8M);

    return {
      samples: {
        'readFile 1M': read1M,
        [`first ${scale.mediumFileCalls} writeFile 1M`]: first1M,
        'writeFile 1M': write1M,
        'readFile 64M': read64M,
        [`first ${scale.largeFileCalls} writeFile 8M`]: first8M,
        'writeFile 8M': write8M,
      },
      figures: {
        'readFile 64M peak rss': lower(readPeak, 'MiB'),
        'writeFile 8M peak rss': lower(writePeak, 'MiB'),
        'readBlock 1M x1': await streamBlocks(context, 1),
        'readBlock 1M x4': await streamBlocks(context, 4),
      },
    };
  },
};

async function streamBlocks({ server, fixtures }: WorkloadContext, width: number): Promise<Figure> {
  using client = await openWarmClient({ server });
  const handleId = 'stream';
  await client.call('fs/open', { handleId, path: fileUri(fixtures.file64M), sandbox });
  let bytes = 0;
  const seconds = await inFlight(64, width, async (i) => {
    const response = await client.callForBytes('fs/readBlock', { handleId, offset: i * MiB, len: MiB });
    const start = response.indexOf('"chunk":"') + '"chunk":"'.length;
    const end = response.indexOf(quote, start);
    bytes += decodedLength(response, start, end);
    if (i % 16 === 0) verify(fixtures.matches(decodeChunk(response, start, end), i * MiB), `fs/readBlock ${i}`);
  });
  verify(bytes === 64 * MiB, `fs/readBlock returned ${bytes} bytes`);
  await client.call('fs/close', { handleId });
  return higher(bytes / 1e6 / seconds, 'MB/s');
}

export const fsDirs: Workload = {
  about: 'readDirectory of 1k and 10k files; walk, copy and remove of a tree of 5k entries',
  async run({ server, fixtures, scale }) {
    using client = await openWarmClient({ server });
    const list = async (method: string, params: object, entries: number) => {
      const result = await client.call<{ entries: unknown[] }>(method, params);
      verify(result.entries.length === entries, `${method} returned ${result.entries.length} of ${entries} entries`);
    };
    const limits = { maxDepth: 10, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: false };
    const small = { path: fileUri(fixtures.directory1K), sandbox };
    const large = { path: fileUri(fixtures.directory10K), sandbox };
    const tree = { path: fileUri(fixtures.tree), options: limits, sandbox };
    const fewer = Math.max(3, scale.directoryCalls / 4);
    const trees = Math.max(2, scale.directoryCalls / 20);

    const list1K = await timeEach(scale.directoryCalls, () => list('fs/readDirectory', small, 1_000));
    const list10K = await timeEach(fewer, () => list('fs/readDirectory', large, 10_000));
    const walk = await timeEach(fewer, () => list('fs/walk', tree, fixtures.treeEntries));
    const copies = mkdtempSync(join(fixtures.work, 'copies-'));
    const copyOf = (i: number) => join(copies, `copy-${i}`);
    const copy = await timeEach(trees, (i) => {
      const destinationPath = fileUri(copyOf(i));
      return client.call('fs/copy', { sourcePath: tree.path, destinationPath, recursive: true, sandbox });
    });
    verify(readdirSync(join(copyOf(0), 'directory-49')).length === 100, 'fs/copy left files out');
    const remove = await timeEach(trees, (i) =>
      client.call('fs/remove', { path: fileUri(copyOf(i)), recursive: true, force: true, sandbox }),
    );
    verify(!existsSync(copyOf(0)), 'fs/remove left the tree behind');
    return {
      samples: {
        'readDirectory 1k': list1K,
        'readDirectory 10k': list10K,
        'walk 5k': walk,
        'copy 5k': copy,
        'remove 5k': remove,
      },
    };
  },
};
