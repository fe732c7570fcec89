import { isScalar, parseDocument, visit } from 'yaml';

/** A number that JavaScript would write differently, such as 1.50 and 0x10, is text. */
export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMap;
export interface YamlMap {
  readonly [key: string]: YamlValue;
}

export function isYamlMap(value: YamlValue | undefined): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads one YAML document; throws if it is not valid. Unknown tags are ignored, as the reference does. */
export function parseYaml(text: string): YamlValue {
  const document = parseDocument(text, { schema: 'core', logLevel: 'error' });
  const [error] = document.errors;
  if (error) throw error;
  visit(document, {
    Scalar(_, node) {
      if (isScalar(node) && typeof node.value === 'number' && String(node.value) !== node.source)
        node.value = node.source;
    },
  });
  return document.toJS() as YamlValue;
}
