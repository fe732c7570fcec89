import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { version } from '../src/base/index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Which folders a folder may import, in the order of the picture: arrows point up only. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ['base'],
  rpc: ['base', 'protocol'],
  link: ['base', 'protocol', 'rpc'], // protocol for its limits; rpc for types alone
  os: ['base'],
  sandbox: ['base', 'protocol', 'os'],
  process: ['base', 'protocol', 'os', 'sandbox'],
  files: ['base', 'protocol', 'os', 'sandbox'],
  network: ['base', 'protocol', 'os', 'sandbox'],
  environment: ['base', 'protocol', 'os', 'files'],
  server: ['base', 'protocol', 'rpc', 'link', 'os', 'sandbox', 'process', 'files', 'network', 'environment'],
  client: ['base', 'protocol', 'rpc'],
  relay: ['base', 'rpc'],
  remote: ['base', 'protocol', 'rpc', 'link', 'os', 'relay', 'server', 'client'],
  rendezvous: ['base', 'link', 'os', 'relay'],
  rules: ['base'],
  approval: ['base', 'protocol', 'rules'],
  patch: ['base', 'protocol', 'files'], // files for the interface its changes go through
  // link and server: running commands on this machine is a server in the same process.
  'unified-exec': [
    'base',
    'protocol',
    'link',
    'process',
    'files',
    'network',
    'server',
    'client',
    'rules',
    'approval',
    'patch',
  ],
  escalation: ['base', 'protocol', 'os', 'sandbox', 'rules', 'approval'],
  mcp: ['base', 'protocol', 'os', 'files', 'client', 'rules', 'approval', 'unified-exec', 'escalation'],
};

/** Packages a folder may import besides what Node brings along. */
const packages: Readonly<Record<string, readonly string[]>> = {
  protocol: ['zod/mini'],
  link: ['ws'],
  network: ['undici'],
  server: ['ws', 'jose'],
  environment: ['smol-toml'],
  relay: ['@noble/post-quantum/ml-kem.js'],
  remote: ['ws', 'undici'],
  rendezvous: ['ws', 'jose', '@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv'],
  mcp: ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio', '@modelcontextprotocol/node', 'zod/mini'],
  cli: ['smol-toml'],
};

/** Folders that run in a browser. */
const portable = ['base', 'protocol', 'rpc', 'client'];

/** The limits without the schemas, for what starts before them. */
const numbersFile = 'protocol/limits.ts';

/** The one file there that knows of `Buffer`, as a fast path. */
const bufferFile = 'base/bytes.ts';

interface Import {
  readonly file: string;
  readonly folder: string;
  readonly specifier: string;
  readonly typeOnly: boolean;
  /** Loaded when it is needed, not with the file that names it. */
  readonly onDemand: boolean;
  /** The file inside `src` it leads to, if it does. */
  readonly target: string | undefined;
}

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .sort();

const textOf = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');
const folderOf = (file: string): string => file.split('/')[0]!;

const statement = /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/g;
const dynamic = /\bimport\('([^']+)'\)/g;

function importsOf(file: string): Import[] {
  const text = textOf(file);
  const found = [
    ...[...text.matchAll(statement)].map(([, type, specifier]) => ({
      specifier: specifier!,
      typeOnly: type !== undefined,
      onDemand: false,
    })),
    ...[...text.matchAll(dynamic)].map(([, specifier]) => ({ specifier: specifier!, typeOnly: false, onDemand: true })),
  ];
  return found.map(({ specifier, typeOnly, onDemand }) => ({
    file,
    folder: folderOf(file),
    specifier,
    typeOnly,
    onDemand,
    target: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined,
  }));
}

const imports = sources.flatMap(importsOf);
const crossing = imports.filter(({ target, folder }) => target !== undefined && folderOf(target) !== folder);
const shown = ({ file, specifier }: Import): string => `${file} imports ${specifier}`;

describe('the folders of src', () => {
  it('are read: every file with an import has been seen', () => {
    const mentioning = sources.filter((file) => /^import\b/m.test(textOf(file)));

    expect(new Set(imports.map(({ file }) => file))).toEqual(
      new Set([...mentioning, ...imports.map(({ file }) => file)]),
    );
    expect(mentioning.filter((file) => !imports.some((found) => found.file === file))).toEqual([]);
  });

  it('are in the picture, or nothing but the command line', () => {
    const folders = new Set(sources.map(folderOf));

    expect([...folders].filter((folder) => !(folder in mayImport) && folder !== 'cli')).toEqual([]);
  });

  it('import only what the picture allows', () => {
    const wrong = crossing.filter(
      ({ folder, target }) => folder !== 'cli' && !mayImport[folder]?.includes(folderOf(target!)),
    );

    expect(wrong.map(shown)).toEqual([]);
  });

  it('import each other through index.ts alone, but for single files on demand', () => {
    const deep = crossing.filter(({ target, onDemand }) => !/^[^/]+\/index\.ts$/.test(target!) && !onDemand);

    expect(deep.filter(({ target }) => target !== numbersFile).map(shown)).toEqual([]);
  });

  it('are drawn without cycles', () => {
    const drawn = Object.keys(mayImport);
    const upwards = drawn.every((folder, index) => mayImport[folder]!.every((other) => drawn.indexOf(other) < index));

    expect(upwards).toBe(true);
  });

  it('form no cycles', () => {
    const edges = new Map<string, Set<string>>();
    for (const { folder, target } of crossing) {
      edges.set(folder, (edges.get(folder) ?? new Set()).add(folderOf(target!)));
    }
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      [...(edges.get(from) ?? [])].some((next) => {
        if (next === to) return true;
        if (seen.has(next)) return false;
        seen.add(next);
        return reaches(next, to, seen);
      });

    expect([...edges.keys()].filter((folder) => reaches(folder, folder))).toEqual([]);
  });

  it('are not imported from the command line’s side', () => {
    expect(crossing.filter(({ target }) => folderOf(target!) === 'cli').map(shown)).toEqual([]);
  });

  it('take only types from rpc where they are links', () => {
    const fromRpc = crossing.filter(({ folder, target }) => folder === 'link' && folderOf(target!) === 'rpc');

    expect(fromRpc.filter(({ typeOnly }) => !typeOnly).map(shown)).toEqual([]);
  });

  it('use the packages they are meant to', () => {
    const wrong = imports.filter(
      ({ folder, specifier, target }) =>
        target === undefined && !specifier.startsWith('node:') && !packages[folder]?.includes(specifier),
    );

    expect(wrong.map(shown)).toEqual([]);
  });
});

describe('folders that run in a browser', () => {
  it('import nothing of Node', () => {
    const wrong = imports.filter(({ folder, specifier }) => portable.includes(folder) && specifier.startsWith('node:'));

    expect(wrong.map(shown)).toEqual([]);
  });

  it('use nothing that only Node has', () => {
    const files = sources.filter((file) => portable.includes(folderOf(file)) && file !== bufferFile);
    const wrong = files.filter((file) => {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '');
      return /\bBuffer\b|\bNodeJS\.|(?<![.\w])(?:process|global)\.(?:env|argv|pid|platform|nextTick|cwd|on)\b|\bsetImmediate\b|\brequire\(/.test(
        code,
      );
    });

    expect(wrong).toEqual([]);
  });
});

describe('every source file', () => {
  it('has at most 400 lines', () => {
    const long = sources
      .map((file) => [file, textOf(file).split('\n').length - 1] as const)
      .filter(([, lines]) => lines > 400);

    expect(long).toEqual([]);
  });

  it('is named after a thing, in kebab case', () => {
    const names = sources.map((file) => file.split('/').at(-1)!);

    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/.test(name))).toEqual([]);
    expect(names.filter((name) => /^(?:utils?|helpers?|common|manager|types)\.ts$/.test(name))).toEqual([]);
  });
});

describe('the package', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
    exports: Record<string, unknown>;
    dependencies: Record<string, string>;
  };

  it('has these entrances, each the public face of a folder', () => {
    const entrances = ['protocol', 'client', 'link', 'server', 'unified-exec', 'approval', 'rules', 'remote'];

    expect(Object.keys(manifest.exports)).toEqual(entrances.map((folder) => `./${folder}`));
    for (const [name, target] of Object.entries(manifest.exports)) {
      const folder = name.slice(2);
      expect(target).toEqual({ types: `./dist/${folder}/index.d.ts`, default: `./dist/${folder}/index.js` });
      expect(sources).toContain(`${folder}/index.ts`);
    }
  });

  it('has the version that the server announces', () => {
    expect(version).toBe(manifest.version);
  });

  it('depends on exact versions, and on nothing that no folder may use', () => {
    const imported = new Set(
      Object.values(packages)
        .flat()
        .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)![0]),
    );

    expect(new Set(Object.keys(manifest.dependencies))).toEqual(imported);
    expect(Object.values(manifest.dependencies).filter((range) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });
});
