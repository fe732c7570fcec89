import type * as z from 'zod/mini';
import {
  clientMethods,
  environmentInfo,
  type Method,
  methods,
  notifications,
  permissionProfile,
  sandbox,
} from '../../src/protocol/index.ts';
import { sandboxMembers } from '../../src/protocol/sandbox.ts';

/** Types that occur in several places, described once. */
const shared = new Map<unknown, string>([
  [environmentInfo, 'EnvironmentInfo'],
  [sandbox, 'Sandbox'],
  [permissionProfile, 'PermissionProfile'],
]);

/** The reference page of the protocol, written from the method table. */
export function protocolDoc(): string {
  const sections = [
    '# Protocol',
    'Every request the server knows and every notification it sends, generated from the method table in `src/protocol`. ' +
      '`bytes` is standard base64 with padding, `path` is a `file:` URI, `?` marks members that may be absent or `null`. ' +
      'How messages travel, in which order, and what each error means is in [compatibility.md](compatibility.md).',
    '## Shared types',
    ...[...shared].map(([schema, name]) => `### ${name}\n\n${fenced(expanded(schema as z.ZodMiniType, ''))}`),
    '## Requests',
    ...Object.entries<Method>(methods).map(([name, { params, result, capability, extensions, scope }]) =>
      [
        `### ${name}`,
        ...ours(capability),
        needs(scope),
        ...extended(extensions),
        block('params', params),
        block('result', result),
      ].join('\n\n'),
    ),
    '## Requests of the server',
    ...Object.entries(clientMethods).map(
      ([name, { params, result }]) => `### ${name}\n\n${block('params', params)}\n\n${block('result', result)}`,
    ),
    '## Notifications',
    ...Object.entries(notifications).map(([name, params]) => `### ${name}\n\n${block('params', params)}`),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** Said of what a token must grant. */
const needs = (scope: Method['scope']): string =>
  scope === 'any' ? 'Every token allows it.' : `Needs scope \`${scope}\`.`;

/** Said of what the reference does not know. */
const ours = (capability: string | undefined): string[] =>
  capability === undefined ? [] : [`Ours: servers that know it announce the capability \`${capability}\`.`];

const extended = (extensions: Method['extensions'] = []): string[] =>
  extensions.map(
    ({ capability, member, value }) =>
      `Ours: servers with the capability \`${capability}\` know \`${member}: ${typeof value === 'string' ? `'${value}'` : value}\`.`,
  );

const fenced = (text: string): string => `\`\`\`ts\n${text}\n\`\`\``;

const block = (title: string, schema: z.ZodMiniType): string => `${title}\n\n${fenced(typeText(schema))}`;

/** What codecs from these types are called; others are described by what they give. */
const codecs: Readonly<Record<string, string>> = { string: 'path', 'string | {}': 'bytes' };

type Definition = Readonly<Record<string, unknown>> & { readonly type: string };

/** A schema as a TypeScript-like type, by name where it has one. */
function typeText(schema: z.ZodMiniType, indent = ''): string {
  return shared.get(schema) ?? expanded(schema, indent);
}

function expanded(schema: z.ZodMiniType, indent: string): string {
  const definition = (schema as unknown as { _zod: { def: Definition } })._zod.def;
  const inner = (key: string, deeper = indent): string => typeText(definition[key] as z.ZodMiniType, deeper);
  switch (definition.type) {
    case 'object':
      return objectText(definition.shape as Record<string, z.ZodMiniType>, indent);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'readonly':
      return inner('innerType');
    case 'array':
      return `${inner('element')}[]`;
    case 'record':
      return `{ [name: string]: ${inner('valueType')} }`;
    case 'union':
      return (definition.options as z.ZodMiniType[]).map((option) => typeText(option, indent)).join(' | ');
    case 'enum':
      return Object.values(definition.entries as Record<string, string>)
        .map((value) => `'${value}'`)
        .join(' | ');
    case 'literal':
      return (definition.values as string[]).map((value) => `'${value}'`).join(' | ');
    case 'custom':
      return '{}';
    case 'pipe':
      if (inner('in') === 'unknown') return expanded(sandboxMembers, indent); // decoded by hand
      return codecs[inner('in')] ?? inner('out');
    default:
      return definition.type;
  }
}

function objectText(shape: Readonly<Record<string, z.ZodMiniType>>, indent: string): string {
  const deeper = `${indent}  `;
  const members = Object.entries(shape).map(([name, schema]) => {
    const { type } = (schema as unknown as { _zod: { def: Definition } })._zod.def;
    const mark = type === 'optional' || type === 'nullable' || type === 'default' ? '?' : '';
    return `${deeper}${name}${mark}: ${typeText(schema, deeper)};`;
  });
  return members.length === 0 ? '{}' : `{\n${members.join('\n')}\n${indent}}`;
}
