import { LONGEST_TIMER_MS } from '../base/index.ts';

/** What a kind of setting accepts, however it is given. */
export interface SettingKind<T> {
  /** What the value of the flag is called in the help; without it the flag is a switch that takes none. */
  readonly valueName?: string;
  /** Several values: the flag may be repeated, a variable separates them by commas, the file has a list. */
  readonly isList?: true;
  /** The setting, or undefined for a value of another kind. */
  read(value: unknown): T | undefined;
  /** Continues "invalid value 'x' for --name: expected …". */
  readonly expected: string;
}

export function count(least: 0 | 1): SettingKind<number> {
  return {
    valueName: 'N',
    read: (value) => {
      const text = String(value);
      return /^\d+$/.test(text) && Number(text) >= least && Number(text) <= LONGEST_TIMER_MS ? Number(text) : undefined;
    },
    expected: `a whole number from ${least} to ${LONGEST_TIMER_MS}`,
  };
}

const readTruth = (value: unknown): boolean | undefined => {
  const text = String(value);
  return text === 'true' || text === 'false' ? text === 'true' : undefined;
};

/** `--name true` or `--name false`. */
export const choice: SettingKind<boolean> = {
  valueName: 'true|false',
  read: readTruth,
  expected: 'true or false',
};

/** `--name` means true; a variable and the file say true or false. */
export const onOff: SettingKind<boolean> = { read: readTruth, expected: 'true or false' };

/** A text that `isValid` accepts. */
export function text(
  valueName: string,
  expected: string,
  isValid = (value: string) => value !== '',
): SettingKind<string> {
  return {
    valueName,
    read: (value) => (typeof value === 'string' && isValid(value) ? value : undefined),
    expected,
  };
}

/** One of a few words. */
export function oneOf<T extends string>(...words: readonly T[]): SettingKind<T> {
  return {
    valueName: words.join('|'),
    read: (value) => words.find((word) => word === value),
    expected: words.join(' or '),
  };
}

/** Texts that `isValid` accepts, of which one is called `valueName`. */
export function list(
  valueName: string,
  expected: string,
  isValid = (value: string) => value !== '',
): SettingKind<readonly string[]> {
  return {
    valueName,
    isList: true,
    read: (value) => {
      const entries = Array.isArray(value) ? value : String(value).split(',');
      const texts = entries.map((entry) => (typeof entry === 'string' ? entry.trim() : ''));
      return texts.every(isValid) ? texts : undefined;
    },
    expected,
  };
}
