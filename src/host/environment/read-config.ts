import { hostname } from 'node:os';
import { ExecError, type Params, PathUri, type Result } from '../../protocol/index.ts';
import { codexHome, userHome } from './codex-home.ts';
import { type LayerStack, loadLayers } from './config-layers.ts';
import { selectPaths, type TomlPath, writeToml } from './toml.ts';

type ConfigRead = Result<'environmentConfig/read'>;

/** The selected settings of every layer that applies to a directory of this machine. */
export async function readConfig(
  params: Params<'environmentConfig/read'>,
  env: NodeJS.ProcessEnv,
): Promise<ConfigRead> {
  const { configPaths, requirementsPaths } = params;
  if (configPaths.length + requirementsPaths.length === 0) {
    throw new ExecError('invalidParams', 'at least one config or requirements path is required');
  }
  if ([...configPaths, ...requirementsPaths].some((path) => path.length === 0)) {
    throw new ExecError('invalidParams', 'TOML paths must contain at least one key segment');
  }
  const home = codexHome(env);
  const { config, requirements } = await loadLayers(nativeText(params.cwd), { codexHome: home });
  return {
    userHomeDir: PathUri.fromNative(userHome(env)),
    codexHomeDir: PathUri.fromNative(home),
    hostname: hostname(),
    config: selection(config, configPaths),
    requirements: selection(requirements, requirementsPaths),
  };
}

function selection({ layers, belowCloud }: LayerStack, paths: readonly TomlPath[]): ConfigRead['config'] {
  const selected = layers.flatMap(({ source, baseDir, toml }, index) => {
    const part = selectPaths(toml, paths);
    return part ? [{ index, source, baseDir: PathUri.fromNative(baseDir), toml: writeToml(part) }] : [];
  });
  return {
    layers: selected.map(({ index: _, ...layer }) => layer),
    cloudInsertionIndex: selected.filter(({ index }) => index < belowCloud).length,
  };
}

function nativeText(uri: PathUri): string {
  try {
    const path = uri.toNative();
    return typeof path === 'string' ? path : Buffer.from(path).toString();
  } catch (error) {
    throw new ExecError('invalidParams', (error as Error).message);
  }
}
