import type { Span } from './source.ts';

export type Token = Span &
  (
    | { readonly kind: 'name' | 'keyword' | 'symbol'; readonly text: string }
    | { readonly kind: 'int'; readonly value: bigint }
    | { readonly kind: 'float'; readonly value: number }
    | { readonly kind: 'string'; readonly value: string }
    | {
        readonly kind: 'fstring';
        readonly parts: readonly FStringPart[];
        readonly openingEnd: number;
        readonly problem: Problem | undefined;
      }
    | { readonly kind: 'newline' | 'indent' | 'dedent' | 'end' | 'expressionEnd' }
    /** An error in the text; reported only if the parser gets to it. */
    | { readonly kind: 'invalid'; readonly reason: string }
  );

/** An error inside an f-string; the parts before it are valid. */
export type Problem = Span & { readonly reason: string };

/** Literal text, or the tokens of an embedded expression, the last of them its end. */
export type FStringPart = string | { readonly tokens: readonly Token[]; readonly conversion: 'str' | 'repr' };

export const keywords: ReadonlySet<string> = new Set(
  'and break continue def elif else for if in lambda load not or pass return'.split(' '),
);

/** Reserved words of Python without a meaning here. */
export const reserved: ReadonlySet<string> = new Set(
  'as assert async await class del except finally from global import is nonlocal raise try while with yield'.split(' '),
);

/** The description of a token in error messages. */
export function describeToken(token: Token): string {
  switch (token.kind) {
    case 'name':
      return `identifier '${token.text}'`;
    case 'keyword':
    case 'symbol':
      return `${token.kind} '${token.text}'`;
    case 'int':
      return `integer literal '${token.value}'`;
    case 'float':
      return `float literal '${token.value}'`;
    case 'string':
      return `string literal ${JSON.stringify(token.value)}`;
    case 'fstring':
      return 'f-string start';
    case 'newline':
      return 'new line';
    case 'indent':
      return 'new indentation block';
    case 'dedent':
      return 'end of indentation block';
    case 'expressionEnd':
      return "f-string expression end '}'";
    case 'end':
      return 'end of file';
    case 'invalid':
      return 'invalid input';
  }
}
