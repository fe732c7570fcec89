import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'smol-toml';

/** How the client reaches its one environment, in the words of `environments.toml`. */
export type Environment =
  | { url: string; auth_bearer_token?: string }
  | { program: string; args: string[]; env: Record<string, string> };

interface CodexHome {
  readonly directory: string;
  readonly modelUrl: string;
  /** Left out when the client finds its environment by a variable instead. */
  readonly environment: Environment | undefined;
  /** More of `config.toml`. */
  readonly config: object;
}

/** Writes a configuration with the scripted model as the only model and the server as the only place to run. */
export async function writeCodexHome({ directory, modelUrl, environment, config }: CodexHome): Promise<void> {
  const catalogue = join(directory, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models: [model] }));
  await writeFile(
    join(directory, 'config.toml'),
    stringify({
      model: model.slug,
      model_provider: 'scripted',
      model_catalog_json: catalogue,
      check_for_update_on_startup: false,
      model_providers: { scripted: { ...provider, base_url: modelUrl } },
      analytics: { enabled: false },
      features: { multi_agent: false, goals: false, plugins: false, apps: false },
      ...config,
    }),
  );
  if (!environment) return;
  const environments = { default: 'box', include_local: false, environments: [{ id: 'box', ...environment }] };
  await writeFile(join(directory, 'environments.toml'), stringify(environments));
}

const provider = {
  name: 'scripted',
  wire_api: 'responses',
  requires_openai_auth: false,
  request_max_retries: 0,
  stream_max_retries: 0,
};

// The client insists on most of these members. The ones that matter here: unified exec, free-form patches, images.
const model = {
  slug: 'scripted',
  display_name: 'Scripted',
  description: 'says what the test tells it to',
  base_instructions: 'none',
  shell_type: 'unified_exec',
  apply_patch_tool_type: 'freeform',
  input_modalities: ['text', 'image'],
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  supports_parallel_tool_calls: true,
  context_window: 272_000,
  max_context_window: 272_000,
  effective_context_window_percent: 95,
  default_reasoning_level: 'medium',
  supported_reasoning_levels: [{ effort: 'medium', description: 'medium' }],
  supports_reasoning_summaries: false,
  default_reasoning_summary: 'none',
  support_verbosity: false,
  default_verbosity: null,
  web_search_tool_type: 'text',
  supports_search_tool: false,
  supports_image_detail_original: false,
  experimental_supported_tools: [],
  visibility: 'list',
  supported_in_api: true,
  priority: 1,
  additional_speed_tiers: [],
  service_tiers: [],
  availability_nux: null,
  upgrade: null,
};
