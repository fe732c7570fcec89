/** Names have bounds because whoever writes the text could make the search for them take its square otherwise. */
const SECRET_NAME =
  '[\\w.-]{0,64}(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passphrase|credential)[\\w.-]{0,64}';

/**
 * Only literal text is taken for a secret, and no path: whoever decides must see everything that a shell would run or a
 * program would open, whatever it is called.
 */
const VALUE = '(["\']?)(?![/.~])[\\w.~+/=:%-]+';

/** What is likely to be a secret, by its name or its look; the part before it stays. */
const secrets: readonly RegExp[] = [
  new RegExp(`(\\b${SECRET_NAME}=)${VALUE}\\2(?=$|[\\s"';&|)])`, 'gi'),
  new RegExp(`((?<=\\s)--?${SECRET_NAME}\\s+)${VALUE}\\2(?=$|[\\s"';&|)])`, 'gi'),
  /(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}/gi,
  /(:\/\/[\w.~%+-]*:)[\w.~%+-]+(?=@)/g,
  /()\b(?:sk-|gh[opsu]_|github_pat_|xox[abp]-|AKIA)[\w-]{8,}/g,
];

/** Text of a stranger as it may be shown on a terminal: nothing that moves the cursor, and no secret that can be told. */
export function presentable(text: string): string {
  return visible(secrets.reduce((shown, secret) => shown.replace(secret, '$1***'), text));
}

/** The same with nothing left out. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (character) => NAMED[character] ?? `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** Control characters, and those that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\x1b': '\\e' };
