import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { version } from '../src/base/index.ts';
import { ArchitectureWays } from './support/architecture-ways.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Which rooms a room may import, in the order of the picture: arrows point up only. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ['base'],
  rpc: ['base', 'protocol'],
  access: ['base', 'protocol'], // protocol for the names of the scopes
  link: ['base', 'protocol', 'rpc'], // protocol for its limits; rpc for types alone
  'host/os': ['base'],
  'host/own': ['base', 'host/os'],
  'host/peers': ['base', 'host/os'],
  'host/http': ['base', 'host/os', 'host/peers'],
  'host/engine': ['base', 'protocol', 'host/os', 'host/own'],
  'host/sandbox': ['base', 'protocol', 'host/os', 'host/own', 'host/peers', 'host/engine'],
  'host/stream': ['base', 'protocol', 'host/os'],
  'host/ports': ['base', 'protocol', 'host/os', 'host/peers', 'host/stream'],
  'host/process': ['base', 'protocol', 'host/os', 'host/own', 'host/sandbox', 'host/stream'],
  'host/watch': ['base', 'protocol', 'host/os', 'host/engine', 'host/sandbox', 'host/stream'],
  'host/files': ['base', 'protocol', 'host/os', 'host/engine', 'host/sandbox', 'host/watch'],
  'host/network': ['base', 'protocol', 'host/os', 'host/own', 'host/peers', 'host/http', 'host/sandbox'],
  'host/environment': ['base', 'protocol', 'host/os', 'host/files'],
  // What a program says once about this machine; light, for it is loaded before a server can be reached.
  host: ['base', 'host/http'],
  server: [
    ...[
      'base',
      'protocol',
      'rpc',
      'link',
      'host/os',
      'host/own',
      'host/peers',
      'host/http',
      'host/engine',
      'host/sandbox',
      'host/stream',
      'host/ports',
      'host/process',
    ],
    ...['host/files', 'host/network', 'host/environment', 'host', 'access'],
  ],
  client: ['base', 'protocol', 'rpc'],
  relay: ['base', 'rpc'],
  'relay/remote': ['base', 'protocol', 'rpc', 'link', 'host/os', 'host/own', 'host/http', 'server', 'client', 'relay'],
  'relay/rendezvous': ['base', 'access', 'link', 'host/os', 'host/peers', 'host/http', 'relay'],
  'agent/rules': ['base'],
  'agent/approval': ['base', 'protocol', 'agent/rules'],
  'agent/patch': ['base', 'protocol', 'host/files'], // files for the interface its changes go through
  // link and server: running commands on this machine is a server in the same process.
  'agent/unified-exec': [
    ...['base', 'protocol', 'link', 'host/sandbox', 'host/process', 'host/files', 'host/network', 'server', 'client'],
    ...['agent/rules', 'agent/approval', 'agent/patch'],
  ],
  'agent/escalation': ['base', 'protocol', 'host/os', 'host/own', 'host/sandbox', 'agent/rules', 'agent/approval'],
  'agent/mcp': [
    ...['base', 'protocol', 'host/os', 'host/peers', 'host/http', 'host/files', 'client'],
    ...['agent/rules', 'agent/approval', 'agent/unified-exec', 'agent/escalation'],
  ],
};

/** Packages a room may import besides what Node brings along. */
const packages: Readonly<Record<string, readonly string[]>> = {
  protocol: ['zod/mini'],
  link: ['ws'],
  'host/network': ['undici'],
  server: ['ws', 'jose'],
  'host/environment': ['smol-toml', 'yaml'],
  relay: ['@noble/post-quantum/ml-kem.js'],
  'relay/remote': ['ws', 'undici'],
  'relay/rendezvous': ['ws', 'jose', '@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv'],
  'agent/mcp': [
    ...['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio', '@modelcontextprotocol/node', 'zod/mini'],
  ],
  cli: ['smol-toml'],
};

/** Rooms that run in a browser. */
const portable = ['base', 'protocol', 'rpc', 'client'];

/** Limits and scopes without the schemas, for what starts before them. */
const lightFiles: readonly (string | undefined)[] = ['protocol/limits.ts', 'protocol/scopes.ts'];

/** The globals that browsers have as well. */
const BROWSER_GLOBALS = [
  ...['AbortController', 'AbortSignal', 'DOMException', 'Event', 'EventTarget', 'TextDecoder', 'TextEncoder', 'URL'],
  ...['WebSocket', 'clearInterval', 'clearTimeout', 'console', 'crypto', 'performance', 'queueMicrotask'],
  ...['setInterval', 'setTimeout', 'structuredClone'],
];

/** The one file there that knows of `Buffer`, as a fast path. */
const bufferFile = 'base/bytes.ts';

/** Source files in one folder, at most. */
const MOST_FILES = 30;

interface Import {
  readonly file: string;
  readonly room: string;
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

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
const textOf = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');
/** The innermost room that a file lies in; a room is entered through its `index.ts`, whatever folders it has inside. */
const roomOf = (file: string): string =>
  [...Object.keys(mayImport), 'cli']
    .filter((room) => file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0] ?? file;

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
    room: roomOf(file),
    specifier,
    typeOnly,
    onDemand,
    target: specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined,
  }));
}

const imports = sources.flatMap(importsOf);
const crossing = imports.filter(({ target, room }) => target !== undefined && roomOf(target) !== room);
const shown = ({ file, specifier }: Import): string => `${file} imports ${specifier}`;

describe('the rooms of src', () => {
  it('are read: every file with an import has been seen', () => {
    const mentioning = sources.filter((file) => /^import\b/m.test(textOf(file)));

    expect(new Set(imports.map(({ file }) => file))).toEqual(
      new Set([...mentioning, ...imports.map(({ file }) => file)]),
    );
    expect(mentioning.filter((file) => !imports.some((found) => found.file === file))).toEqual([]);
  });

  it('hold every file', () => {
    const rooms = [...Object.keys(mayImport), 'cli'];

    expect(sources.filter((file) => !rooms.includes(roomOf(file)))).toEqual([]);
    expect(rooms.filter((room) => room !== 'cli' && !sources.includes(`${room}/index.ts`))).toEqual([]);
  });

  it('import only what the picture allows', () => {
    const wrong = crossing.filter(({ room, target }) => room !== 'cli' && !mayImport[room]?.includes(roomOf(target!)));

    expect(wrong.map(shown)).toEqual([]);
  });

  it('import each other through index.ts alone, but for single files on demand', () => {
    const deep = crossing.filter(({ target, onDemand }) => target !== `${roomOf(target!)}/index.ts` && !onDemand);

    expect(deep.filter(({ target }) => !lightFiles.includes(target)).map(shown)).toEqual([]);
  });

  it('are drawn without cycles', () => {
    const drawn = Object.keys(mayImport);
    const upwards = drawn.every((room, index) => mayImport[room]!.every((other) => drawn.indexOf(other) < index));

    expect(upwards).toBe(true);
  });

  it('form no cycles', () => {
    const edges = new Map<string, Set<string>>();
    for (const { room, target } of crossing) {
      edges.set(room, (edges.get(room) ?? new Set()).add(roomOf(target!)));
    }
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      [...(edges.get(from) ?? [])].some((next) => {
        if (next === to) return true;
        if (seen.has(next)) return false;
        seen.add(next);
        return reaches(next, to, seen);
      });

    expect([...edges.keys()].filter((room) => reaches(room, room))).toEqual([]);
  });

  it('are not imported from the command line’s side', () => {
    expect(crossing.filter(({ target }) => roomOf(target!) === 'cli').map(shown)).toEqual([]);
  });

  it('take only types from rpc where they are links', () => {
    const fromRpc = crossing.filter(({ room, target }) => room === 'link' && roomOf(target!) === 'rpc');

    expect(fromRpc.filter(({ typeOnly }) => !typeOnly).map(shown)).toEqual([]);
  });

  it('use the packages they are meant to', () => {
    const wrong = imports.filter(
      ({ room, specifier, target }) =>
        target === undefined && !specifier.startsWith('node:') && !packages[room]?.includes(specifier),
    );

    expect(wrong.map(shown)).toEqual([]);
  });

  it('have no folder that is too full to take in', () => {
    const folders = [...new Set(sources.map((file) => dirname(file)))];
    const filesIn = (folder: string): number => sources.filter((file) => dirname(file) === folder).length;

    expect(folders.filter((folder) => filesIn(folder) > MOST_FILES)).toEqual([]);
  });
});

describe('rooms that run in a browser', () => {
  it.each(portable)('%s can be bundled for one, and runs where there is nothing of Node', async (room) => {
    const bundle = await rolldown({
      input: join(root, 'src', room, 'index.ts'),
      platform: 'browser',
      transform: { target: 'es2022' }, // `using` is younger than browsers
      onLog: (_, log) => {
        throw new Error(log.message); // an import that a browser cannot resolve is only a warning
      },
    });
    const { output } = await bundle.generate({ format: 'iife', name: 'room' });
    const page = createContext(
      Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, Reflect.get(globalThis, name)])),
    );

    runInContext(output[0].code, page);

    expect(Object.keys(runInContext('room', page) as object)).not.toEqual([]);
  });

  it('use nothing that only Node has, also where loading them does not show it', () => {
    const files = sources.filter((file) => portable.includes(roomOf(file)) && file !== bufferFile);
    const wrong = files.filter((file) => {
      const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '');
      return /\bBuffer\b|\bNodeJS\.|(?<![.\w])(?:process|global)\.(?:env|argv|pid|platform|nextTick|cwd|on)\b|\bsetImmediate\b|\brequire\(/.test(
        code,
      );
    });

    expect(wrong).toEqual([]);
  });
});

describe('the private parts of Node', () => {
  /** Members with an underscore, and the method of a socket through which Node hands it bytes. */
  const privateParts =
    /\b_(?:handle|socket|sender|receiver|readableState|writableState)\b|\bsocket\.push\b|\bprocess\.binding\b/;
  const importersOf = (target: string): string[] =>
    imports.filter((found) => found.target === target).map(({ file }) => file);

  it('are touched by the fast path alone', () => {
    expect(sources.filter((file) => privateParts.test(textOf(file)))).toEqual(['link/websocket/fast-path.ts']);
  });

  it('are reached by one way: the parts of the fast path belong to it, and only a message socket opens one', () => {
    expect(importersOf('link/websocket/frame-writer.ts')).toEqual(['link/websocket/fast-path.ts']);
    expect(importersOf('link/websocket/frame-gatherer.ts')).toEqual(['link/websocket/fast-path.ts']);
    expect(importersOf('link/websocket/fast-path.ts')).toEqual([
      'link/index.ts',
      'link/websocket/message-socket.ts',
      'link/websocket/websocket-link.ts',
    ]);
  });
});

/** The handlers of a text that take no error: `catch {` with its block, and `.catch(() => …` with its line or block. */
function handlersThatDrop(text: string): string[] {
  const lines = text.split('\n');
  const indent = (line: string): number => line.length - line.trimStart().length;
  return lines.flatMap((line, at) => {
    if (!/\bcatch(?: \{|\(\(\) =>)/.test(line)) return [];
    if (!/\{(?: \/\/ .*)?$/.test(line)) return [line];
    const end = lines.findIndex(
      (each, index) => index > at && indent(each) <= indent(line) && each.trim().startsWith('}'),
    );
    return [lines.slice(at, end + 1).join('\n')];
  });
}

describe('every source file', () => {
  it('waits for an abort by way of base/abortable.ts', () => {
    expect(sources.filter((file) => /EventListener\('abort'/.test(textOf(file)))).toEqual(['base/abortable.ts']);
  });

  it('has at most 400 lines', () => {
    const long = sources
      .map((file) => [file, textOf(file).split('\n').length - 1] as const)
      .filter(([, lines]) => lines > 400);

    expect(long).toEqual([]);
  });

  it('has at most 300 lines where it is C', () => {
    const files = readdirSync(join(root, 'native'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.c'),
    );
    const linesOf = (file: string) => readFileSync(join(root, 'native', file), 'utf8').split('\n').length - 1;

    expect(files).not.toEqual([]);
    expect(files.filter((file) => linesOf(file) > 300)).toEqual([]);
  });

  it('says why where it drops an error', () => {
    const silent = sources.flatMap((file) =>
      handlersThatDrop(textOf(file))
        .filter((handler) => !/\/\/ |throw |[eE]rror\(/.test(handler))
        .map((handler) => [file, handler]),
    );

    expect(silent).toEqual([]);
  });

  it('is passed its state: no variable of a module changes', () => {
    expect(sources.filter((file) => /^(?:export )?(?:let|var) /m.test(textOf(file)))).toEqual([]);
  });

  it('is passed the environment variables, but for those of the command line', () => {
    const reading = sources.filter((file) =>
      /\bprocess\.env\b|\benv\b[^;\n]*\} = process\b|'node:process'/.test(withoutComments(textOf(file))),
    );

    expect(reading.filter((file) => roomOf(file) !== 'cli')).toEqual([]);
    expect(reading).not.toEqual([]);
  });

  it('is named after a thing, in kebab case', () => {
    const names = sources.map((file) => file.split('/').at(-1)!);

    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/.test(name))).toEqual([]);
    expect(names.filter((name) => /^(?:utils?|helpers?|common|manager|types)\.ts$/.test(name))).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('has the six ways, and names files that exist', () => {
    const ways = new ArchitectureWays();
    const files = ways.names.flatMap((name) => ways.files(name));

    expect(ways.names).toEqual([
      ...['One request', 'One process', 'One sandboxed command', 'One file call', 'One tool call'],
      'One relayed message',
    ]);
    expect(files.filter((file) => !existsSync(join(root, file.startsWith('native/') ? '' : 'src', file)))).toEqual([]);
  });

  it('has at most 200 lines', () => {
    expect(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('\n').length - 1).toBeLessThanOrEqual(200);
  });
});

describe('the package', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
    exports: Record<string, unknown>;
    dependencies: Record<string, string>;
  };

  it('has these entrances, each the public face of a room', () => {
    const entrances = {
      ...{ './protocol': 'protocol', './client': 'client', './link': 'link', './server': 'server' },
      ...{ './unified-exec': 'agent/unified-exec', './approval': 'agent/approval', './rules': 'agent/rules' },
      './remote': 'relay/remote',
    };

    expect(Object.keys(manifest.exports)).toEqual(Object.keys(entrances));
    for (const [name, room] of Object.entries(entrances)) {
      const target = { types: `./dist/${room}/index.d.ts`, default: `./dist/${room}/index.js` };
      expect(manifest.exports[name]).toEqual(target);
      expect(sources).toContain(`${room}/index.ts`);
    }
  });

  it('has the version that the server announces', () => {
    expect(version).toBe(manifest.version);
  });

  it('depends on exact versions, and on nothing that no room may use', () => {
    const imported = new Set(
      Object.values(packages)
        .flat()
        .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)![0]),
    );

    expect(new Set(Object.keys(manifest.dependencies))).toEqual(imported);
    expect(Object.values(manifest.dependencies).filter((range) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });
});
