import { quoteInvalidValues } from './quoted-values.ts';
import { isYamlMap, parseYaml, type YamlMap, type YamlValue } from './yaml.ts';

/** The head of a `SKILL.md`: the YAML between its first two lines of dashes. */
export interface SkillHead {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
}

/** The tools that a skill needs and when it may be used, from its `agents/openai.yaml`. */
export interface SkillTerms {
  readonly dependencies: { readonly tools: readonly Readonly<Record<string, unknown>>[] } | null;
  readonly policy: { readonly allowImplicitInvocation: boolean | null; readonly products: readonly string[] } | null;
}

const NAME_LENGTH = 64;

const noTerms: SkillTerms = { dependencies: null, policy: null };

/** Undefined if the document has no usable head. */
export function parseSkillHead(contents: string, folderName: string): SkillHead | undefined {
  const block = /^---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|$)/s.exec(contents)?.[1];
  if (block === undefined) return undefined;
  const head = unlessInvalid(() => headOf(block)) ?? unlessInvalid(() => headOf(quoteInvalidValues(block)));
  if (!head) return undefined;
  const { name = oneLine(folderName) ?? 'skill', description, shortDescription } = head;
  return description === null || [...name].length > NAME_LENGTH ? undefined : { name, description, shortDescription };
}

function headOf(block: string) {
  const head = mapOf(parseYaml(block));
  const name = text(head.name) ?? undefined;
  const shortDescription = text(optionalMap(head.metadata)?.['short-description']);
  return { ...(name !== undefined && { name }), description: text(head.description), shortDescription };
}

/** A file that is not valid in every part has no terms, as in the reference. */
export function parseSkillTerms(contents: string | undefined): SkillTerms {
  return unlessInvalid(() => termsOf(parseYaml(contents ?? ''))) ?? noTerms;
}

function termsOf(root: YamlValue): SkillTerms {
  const { dependencies, policy, ...others } = mapOf(root);
  text(optionalMap(others.interface)?.display_name);
  return { dependencies: toolDependencies(optionalMap(dependencies)), policy: policyOf(optionalMap(policy)) };
}

function toolDependencies(dependencies: YamlMap | null): SkillTerms['dependencies'] {
  const tools = listOf(dependencies?.tools)
    .map(mapOf)
    .map((tool) => ({
      type: text(tool.type),
      value: text(tool.value),
      description: text(tool.description),
      transport: text(tool.transport),
      command: text(tool.command),
      url: text(tool.url),
      oauthCallbackPort: callbackPort(optionalMap(tool.oauth)),
    }))
    .filter(({ type, value }) => type !== null && value !== null);
  return tools.length === 0 ? null : { tools };
}

function callbackPort(oauth: YamlMap | null): number | null {
  const ports = [oauth?.callback_port, oauth?.callbackPort].filter((port) => port !== undefined);
  if (ports.length > 1) throw new TypeError('callback_port and callbackPort exclude each other');
  const [port = null] = ports;
  if (port === null) return null;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new TypeError('callback_port must be a port number');
  return port;
}

function policyOf(policy: YamlMap | null): SkillTerms['policy'] {
  if (policy === null) return null;
  const { allow_implicit_invocation: allowed = null, products } = policy;
  if (allowed !== null && typeof allowed !== 'boolean') throw new TypeError('a boolean is expected');
  return { allowImplicitInvocation: allowed, products: listOf(products).map(productOf) };
}

const products = ['atlas', 'chatgpt', 'codex'];

/** A product, written all in lower case or all in upper case. */
function productOf(value: YamlValue): string {
  const product = products.find((name) => value === name || value === name.toUpperCase());
  if (product === undefined) throw new TypeError(`${JSON.stringify(value)} is not a product`);
  return product;
}

function unlessInvalid<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // discovery reports that some metadata could not be loaded
  }
}

function mapOf(value: YamlValue): YamlMap {
  if (!isYamlMap(value)) throw new TypeError('a map is expected');
  return value;
}

function optionalMap(value: YamlValue | undefined): YamlMap | null {
  return value === undefined || value === null ? null : mapOf(value);
}

function listOf(value: YamlValue | undefined): readonly YamlValue[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError('a list is expected');
  return value;
}

/** A scalar as text, with every run of white space as one blank; null if it is empty. */
function text(value: YamlValue | undefined): string | null {
  if (typeof value === 'object' && value !== null) throw new TypeError('text is expected');
  return value === undefined || value === null ? null : oneLine(String(value));
}

const oneLine = (value: string): string | null => value.trim().replace(/\s+/g, ' ') || null;
