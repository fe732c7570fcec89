import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';

interface Root {
  readonly plugin: {
    manifest: unknown;
    mcpConfig: { path: string } | null;
    appsConfig: { path: string } | null;
  } | null;
  readonly skills: { instructions: { path: string }; metadata: unknown }[];
  readonly namespaceManifests: { path: string }[];
  readonly warnings: string[];
  readonly error: string | null;
}

let folder: string;
let server: TestServer;
let client: WebSocketClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-discovery-'));
  await mkdir(join(folder, 'root'));
  server = await startServer({ env: { HOME: join(folder, 'home'), CODEX_HOME: join(folder, 'codex') } });
  client = await connect(server.url);
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await server.stop();
  await rm(folder, { recursive: true });
});

const uri = (path: string): string => `file://${join(folder, path)}`;

async function write(path: string, text: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

const skill = (name: string): string => `---\nname: ${name}\ndescription: about ${name}\n---\nbody\n`;

async function discover(path = 'root', sandbox?: unknown): Promise<Root> {
  const params = { roots: [{ id: 'r', path: uri(path), sandbox }] };
  const { roots } = await client.call<{ roots: Root[] }>('capabilityRoots/discoverV1', params);
  return roots[0]!;
}

/** Reads of everything but one path are allowed. */
const hiding = (path: string) => ({
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [
        { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
        { path: { type: 'path', path: uri(path) }, access: 'deny' },
      ],
    },
    network: 'restricted',
  },
  windowsSandboxLevel: 'disabled',
  cwd: uri(''),
});

describe('discovery in a directory', () => {
  it('finds skills in the order of their paths, six levels deep and behind links', async () => {
    await write('root/b/SKILL.md', skill('b'));
    await write('root/1/2/3/4/5/6/SKILL.md', skill('deep'));
    await write('root/1/2/3/4/5/6/7/SKILL.md', skill('too deep'));
    await write('elsewhere/s/SKILL.md', skill('linked'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'root/a'));
    const { skills } = await discover();
    expect(skills.map(({ instructions }) => instructions.path)).toEqual([
      uri('root/1/2/3/4/5/6/SKILL.md'),
      uri('root/a/s/SKILL.md'),
      uri('root/b/SKILL.md'),
    ]);
  });

  it('reads the files that the manifest of a plugin names', async () => {
    await write('root/.claude-plugin/plugin.json', '{"mcpServers":"./my servers.json","apps":"./apps.json"}');
    await write('root/my servers.json', '{}');
    await write('root/apps.json', '{}');
    const { plugin, warnings } = await discover();
    expect(plugin?.mcpConfig?.path).toBe(uri('root/my%20servers.json'));
    expect(plugin?.appsConfig?.path).toBe(uri('root/apps.json'));
    expect(warnings).toEqual([]);
  });

  it('prefers the manifest of its own kind, and no file to servers written into it', async () => {
    await write('root/.cursor-plugin/plugin.json', '{"name":"cursor"}');
    await write('root/.codex-plugin/plugin.json', '{"mcpServers":{}}');
    await write('root/.mcp.json', '{}');
    const { plugin } = await discover();
    expect(plugin).toMatchObject({ manifest: { contents: '{"mcpServers":{}}' }, mcpConfig: null });
  });

  it.each([
    ['servers.json', 'path must start with `./`'],
    ['./../servers.json', 'path must remain below the capability root'],
    ['./', 'path must remain below the capability root'],
  ])('does not follow a manifest to %s', async (path, reason) => {
    await write('root/.codex-plugin/plugin.json', JSON.stringify({ apps: path }));
    const { plugin, warnings } = await discover();
    expect(plugin?.appsConfig).toBeNull();
    expect(warnings).toEqual([`ignoring apps in ${uri('root/.codex-plugin/plugin.json')}: ${reason}`]);
  });

  it('tells of the plugin around it and of those inside', async () => {
    await write('.codex-plugin/plugin.json', '{"name":"around"}');
    await write('root/in/.codex-plugin/plugin.json', '{"name":"inside"}');
    await write('root/in/.claude-plugin/plugin.json', '{"name":"not preferred"}');
    const { plugin, namespaceManifests } = await discover();
    expect(plugin).toBeNull();
    expect(namespaceManifests.map(({ path }) => path)).toEqual([
      uri('.codex-plugin/plugin.json'),
      uri('root/in/.codex-plugin/plugin.json'),
    ]);
  });

  it('warns of files that are too large or no text, and goes on', async () => {
    await write('root/a/SKILL.md', 'x'.repeat(1024 * 1024 + 1));
    await write('root/b/SKILL.md', Uint8Array.of(0xff));
    await write('root/c/SKILL.md', skill('c'));
    const { skills, warnings } = await discover();
    expect(skills.map(({ instructions }) => instructions.path)).toEqual([uri('root/c/SKILL.md')]);
    expect(warnings).toEqual([
      `capability file ${uri('root/a/SKILL.md')} exceeds the 1048576-byte limit`,
      `capability file ${uri('root/b/SKILL.md')} is not UTF-8`,
    ]);
  });

  it('reads no more than 16 MiB in all', async () => {
    for (let n = 10; n < 27; n++) await write(`root/${n}/SKILL.md`, 'x'.repeat(1024 * 1024));
    const { skills, warnings } = await discover();
    expect(skills).toHaveLength(16);
    expect(warnings).toEqual(['capability root bundle exceeds the 16777216-byte limit']);
  });

  it('sees what its sandbox shows and nothing more', async () => {
    await write('root/open/SKILL.md', skill('open'));
    await write('root/secret/SKILL.md', skill('secret'));
    const { skills } = await discover('root', hiding('root/secret'));
    expect(skills.map(({ instructions }) => instructions.path)).toEqual([uri('root/open/SKILL.md')]);
    expect(await discover('root/secret', hiding('root/secret'))).toMatchObject({ skills: [], error: null });
  });
});

describe('discovery of what is installed', () => {
  const installed = (sandbox?: unknown) =>
    client.call<{ plugins: Record<string, unknown>[]; skills: { name: string }[]; warnings: string[] }>(
      'capabilities/discoverV2',
      { cwd: uri(''), sandbox },
    );

  it('names the skills of a plugin after it', async () => {
    const cache = 'codex/plugins/cache/market/tool';
    await write(`${cache}/1.9.0/.codex-plugin/plugin.json`, '{"name":"old"}');
    await write(`${cache}/1.10.0/.codex-plugin/plugin.json`, '{"name":"tool","interface":{"displayName":"The Tool"}}');
    await write(`${cache}/1.10.0/skills/s/SKILL.md`, skill('s'));
    await write(`${cache}/.codex-remote-plugin-install.json`, '{"schema_version":1,"remote_plugin_id":"far"}');
    const { plugins, warnings } = await installed();
    expect(plugins).toMatchObject([
      {
        id: 'tool@market',
        displayName: 'The Tool',
        remotePluginId: 'far',
        version: '1.10.0',
        root: uri(`${cache}/1.10.0`),
        skills: [{ name: 'tool:s', description: 'about s' }],
      },
    ]);
    expect(warnings).toEqual([]);
  });

  it('says so when something could not be read, but not what', async () => {
    await write('codex/skills/good/SKILL.md', skill('good'));
    await write('codex/skills/bad/SKILL.md', 'no head');
    const { skills, warnings } = await installed();
    expect(skills.map(({ name }) => name)).toEqual(['good']);
    expect(warnings).toEqual(['some capability metadata could not be loaded; discovery may be incomplete']);
  });

  it('sees what its sandbox shows and nothing more', async () => {
    await write('codex/skills/s/SKILL.md', skill('mine'));
    await write('home/.agents/skills/s/SKILL.md', skill('hidden'));
    const { skills } = await installed(hiding('home'));
    expect(skills.map(({ name }) => name)).toEqual(['mine']);
  });
});
