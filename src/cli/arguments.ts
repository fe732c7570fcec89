import { UsageError } from './usage-error.ts';

export interface OptionHelp {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** What the value is called in the help, for options that take one. */
  readonly value?: string;
  /** May be given several times; the value is a list. */
  readonly multiple?: true;
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, OptionHelp>>;

export type Values<T extends OptionTable> = {
  readonly [K in keyof T]?: T[K]['type'] extends 'boolean'
    ? boolean
    : T[K]['multiple'] extends true
      ? string[]
      : string;
};

/**
 * Parses options and positionals; anything unknown is a usage error that names it. Written by hand because loading
 * `util.parseArgs` costs a fifth of the time to start.
 */
export function parseOptions<T extends OptionTable>(
  argv: readonly string[],
  options: T,
): { values: Values<T>; positionals: string[] } {
  const values: Record<string, string | boolean | string[]> = {};
  const positionals: string[] = [];
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    if (argument === '--') {
      positionals.push(...rest.splice(0));
    } else if (!argument.startsWith('-') || argument === '-') {
      positionals.push(argument);
    } else {
      const [flag, inline] = splitFlag(argument);
      const name = nameOf(flag, options);
      const { type, multiple } = options[name]!;
      const value = type === 'boolean' ? switchedOn(flag, inline) : (inline ?? next(flag, rest));
      values[name] = multiple ? [...((values[name] as string[] | undefined) ?? []), value as string] : value;
    }
  }
  return { values: values as Values<T>, positionals };
}

/** Refuses arguments besides the options, for commands that take none. */
export function requireNoPositionals([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`unexpected argument '${first}'`);
}

function splitFlag(argument: string): [flag: string, value: string | undefined] {
  const at = argument.startsWith('--') ? argument.indexOf('=') : -1;
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}

function nameOf(flag: string, options: OptionTable): string {
  const known = Object.entries(options).find(
    ([name, { short }]) => flag === `--${name}` || (short && flag === `-${short}`),
  );
  if (!known) throw new UsageError(`unexpected argument '${flag}'`);
  return known[0];
}

function switchedOn(flag: string, inline: string | undefined): true {
  if (inline !== undefined) throw new UsageError(`${flag} takes no value`);
  return true;
}

function next(flag: string, rest: string[]): string {
  const value = rest.shift();
  if (value === undefined) throw new UsageError(`a value is required for '${flag}'`);
  return value;
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
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 90) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(' '.repeat(indent) + word);
  }
  return lines.join('\n');
}
