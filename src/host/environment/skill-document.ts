import { isYamlMap, parseYaml, type YamlMap, type YamlValue } from './yaml.ts';

/** What a `SKILL.md` says of itself in the block between its first two lines of dashes. */
export interface SkillHead {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
}

/** What a skill needs and when it may be used, from its `agents/openai.yaml`. */
export interface SkillTerms {
  readonly dependencies: { readonly tools: readonly Readonly<Record<string, unknown>>[] } | null;
  readonly policy: { readonly allowImplicitInvocation: boolean | null; readonly products: readonly string[] } | null;
}

const NAME_LENGTH = 64;

/** Reads the head of a skill, or nothing where it has none that is usable. */
export function parseSkillHead(contents: string, folderName: string): SkillHead | undefined {
  const block = /^---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s.exec(contents)?.[1];
  const head = block === undefined ? null : parseYaml(block);
  if (!isYamlMap(head)) return undefined;
  const name = oneLine(head.name) ?? oneLine(folderName) ?? 'skill';
  const description = oneLine(head.description);
  if (description === null || [...name].length > NAME_LENGTH) return undefined;
  const metadata = isYamlMap(head.metadata) ? head.metadata : {};
  return { name, description, shortDescription: oneLine(metadata['short-description']) };
}

export function parseSkillTerms(contents: string | undefined): SkillTerms {
  const root = parseYaml(contents ?? '');
  const { dependencies, policy } = isYamlMap(root) ? root : {};
  return {
    dependencies: isYamlMap(dependencies) ? toolDependencies(dependencies) : null,
    policy: isYamlMap(policy)
      ? { allowImplicitInvocation: flag(policy.allow_implicit_invocation), products: texts(policy.products) }
      : null,
  };
}

function toolDependencies({ tools }: YamlMap): SkillTerms['dependencies'] {
  const usable = list(tools)
    .filter(isYamlMap)
    .filter((tool) => text(tool.type) && text(tool.value));
  if (usable.length === 0) return null;
  return {
    tools: usable.map((tool) => ({
      type: text(tool.type),
      value: text(tool.value),
      description: text(tool.description),
      transport: text(tool.transport),
      command: text(tool.command),
      url: text(tool.url),
      oauthCallbackPort: Number(text(tool.oauth_callback_port)) || null,
    })),
  };
}

/** The text with every run of blanks as one; nothing where that leaves nothing. */
function oneLine(value: YamlValue | undefined): string | null {
  return text(value)?.trim().replace(/\s+/g, ' ') || null;
}

const text = (value: YamlValue | undefined): string | null => (typeof value === 'string' ? value : null);
const list = (value: YamlValue | undefined): readonly YamlValue[] => (Array.isArray(value) ? value : []);
const texts = (value: YamlValue | undefined): string[] => list(value).filter((item) => typeof item === 'string');

function flag(value: YamlValue | undefined): boolean | null {
  return value === 'true' ? true : value === 'false' ? false : null;
}
