import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

export interface OptionHelp {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** What the value is called in the help, for options that take one. */
  readonly value?: string;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, OptionHelp>>;

export type Values<T extends OptionTable> = {
  readonly [K in keyof T]?: T[K]['type'] extends 'boolean' ? boolean : string;
};

/** Parses options and positionals; anything unknown is a usage error that names it. */
export function parseOptions<T extends OptionTable>(
  argv: readonly string[],
  options: T,
  allowPositionals = false,
): { values: Values<T>; positionals: string[] } {
  try {
    const config = { args: [...argv], options: withoutHelp(options), allowPositionals, strict: true } as const;
    const { values, positionals } = parseArgs(config);
    return { values: values as Values<T>, positionals };
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0]!.replace(/^U/, 'u'));
  }
}

function withoutHelp(options: OptionTable): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short }]) => [name, short ? { type, short } : { type }]),
  );
}

/** The option section of a help text. */
export function describeOptions(options: OptionTable): string {
  return Object.entries(options)
    .map(([name, { short, value, help }]) => {
      const flags = `${short ? `-${short}, ` : '    '}--${name}${value ? ` <${value}>` : ''}`;
      return `  ${flags}\n${wrap(help, 10)}`;
    })
    .join('\n');
}

/** Breaks a text into lines of at most 90 characters. */
export function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 90) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(' '.repeat(indent) + word);
  }
  return lines.join('\n');
}
