import { basename, isAbsolute, resolve } from 'node:path';
import { NativeFunction } from '../language/native-function.ts';
import { Failure, List, typeName, type Value } from '../language/value.ts';
import { splitWords } from '../shell/words.ts';
import { type NetworkRule, parseHost, parseProtocol } from './network-rule.ts';
import { type Decision, decisions, type PrefixRule } from './prefix-rule.ts';

/** One `prefix_rule` call: the rules it made, and the commands they must and must not match. */
export interface PrefixRuleCall {
  readonly rules: readonly PrefixRule[];
  readonly match: readonly (readonly string[])[];
  readonly notMatch: readonly (readonly string[])[];
}

/** Receives the calls of the functions. */
export interface RuleCollector {
  prefixRule(call: PrefixRuleCall): void;
  networkRule(rule: NetworkRule): void;
  hostExecutable(name: string, paths: readonly string[]): void;
}

/** The functions a rules file has besides the language's own. */
export function ruleFunctions(collector: RuleCollector): NativeFunction[] {
  return [
    new NativeFunction(
      'prefix_rule',
      ['pattern: list', 'decision?: str', 'match?: list', 'not_match?: list', 'justification?: str'],
      ({ pattern, decision, match, not_match: notMatch, justification }) => {
        const verdict = parseDecision((decision as string | undefined) ?? 'allow');
        const reason = parseJustification(justification as string | undefined);
        const [first, ...rest] = parsePattern(pattern as List);
        const rules = first!.map((program) => ({ first: program, rest, decision: verdict, ...reason }));
        collector.prefixRule({ rules, match: parseExamples(match), notMatch: parseExamples(notMatch) });
        return null;
      },
    ),
    new NativeFunction(
      'network_rule',
      ['host: str', 'protocol: str', 'decision: str', 'justification?: str'],
      ({ host, protocol, decision, justification }) => {
        const parsedProtocol = parseProtocol(protocol as string);
        const verdict = parseDecision(decision === 'deny' ? 'forbidden' : (decision as string));
        const reason = parseJustification(justification as string | undefined);
        collector.networkRule({
          host: parseHost(host as string),
          protocol: parsedProtocol,
          decision: verdict,
          ...reason,
        });
        return null;
      },
    ),
    new NativeFunction('host_executable', ['name: str', 'paths: list'], ({ name, paths }) => {
      const program = parseProgramName(name as string);
      collector.hostExecutable(program, [...new Set((paths as List).items.map((path) => parsePath(path, program)))]);
      return null;
    }),
  ];
}

function parseDecision(text: string): Decision {
  const decision = decisions.find((known) => known === text);
  if (decision === undefined) throw new Failure(`invalid decision: ${text}`);
  return decision;
}

function parseJustification(text: string | undefined): { justification?: string } {
  if (text === undefined) return {};
  if (text.trim() === '') throw new Failure('invalid rule: justification cannot be empty');
  return { justification: text };
}

/** The words of each position, of which any matches. */
function parsePattern({ items }: List): (readonly string[])[] {
  if (items.length === 0) throw new Failure('invalid pattern element: pattern cannot be empty');
  return items.map((item) => {
    if (typeof item === 'string') return [item];
    if (!(item instanceof List))
      throw wrongType('pattern element: pattern element must be a string or list of strings', item);
    if (item.items.length === 0) throw new Failure('invalid pattern element: pattern alternatives cannot be empty');
    return item.items.map((word) => {
      if (typeof word !== 'string') throw wrongType('pattern element: pattern alternative must be a string', word);
      return word;
    });
  });
}

function parseExamples(examples: Value | undefined): (readonly string[])[] {
  return examples instanceof List ? examples.items.map(parseExample) : [];
}

function parseExample(example: Value): readonly string[] {
  if (typeof example === 'string') {
    const words = splitWords(example);
    if (words === undefined) throw new Failure('invalid example: example string has invalid shell syntax');
    if (words.length === 0) throw new Failure('invalid example: example cannot be an empty string');
    return words;
  }
  if (!(example instanceof List)) throw wrongType('example: example must be a string or list of strings', example);
  if (example.items.length === 0) throw new Failure('invalid example: example cannot be an empty list');
  return example.items.map((word) => {
    if (typeof word !== 'string') throw wrongType('example: example tokens must be strings', word);
    return word;
  });
}

function parseProgramName(name: string): string {
  if (name === '') throw new Failure('invalid rule: host_executable name cannot be empty');
  if (basename(name) !== name || name === '.' || name === '..') {
    throw new Failure(`invalid rule: host_executable name must be a bare executable name (got ${name})`);
  }
  return name;
}

function parsePath(path: Value, program: string): string {
  if (typeof path !== 'string') throw wrongType('rule: host_executable paths must be strings', path);
  if (!isAbsolute(path)) throw new Failure(`invalid rule: host_executable paths must be absolute (got ${path})`);
  const normal = resolve(path);
  if (basename(normal) !== program) {
    throw new Failure(`invalid rule: host_executable path \`${path}\` must have basename \`${program}\``);
  }
  return normal;
}

function wrongType(fault: string, value: Value): Failure {
  return new Failure(`invalid ${fault} (got ${typeName(value)})`);
}
