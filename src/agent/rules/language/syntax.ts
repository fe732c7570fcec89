import type { Span } from './source.ts';

export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '//'
  | '%'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '=='
  | '!='
  | '<'
  | '>'
  | '<='
  | '>='
  | 'in'
  | 'not in';

export interface Parameter extends Span {
  /** A `star` (`*` alone) ends the parameters that can be given by position. */
  readonly kind: 'plain' | 'star' | 'args' | 'kwargs';
  readonly name: string;
  readonly fallback?: Expression;
  readonly type?: Expression;
}

export interface Argument extends Span {
  readonly kind: 'positional' | 'named' | 'args' | 'kwargs';
  readonly name: string;
  readonly value: Expression;
}

/** The syntax of a function; `locals` are its parameters and the names that it assigns. */
export interface FunctionSyntax {
  readonly parameters: readonly Parameter[];
  readonly body: readonly Statement[];
  readonly locals: ReadonlySet<string>;
  readonly returns?: Expression;
}

export type Clause =
  | { readonly kind: 'for'; readonly target: Expression; readonly over: Expression }
  | { readonly kind: 'if'; readonly test: Expression };

export type Expression = Span &
  (
    | { readonly kind: 'literal'; readonly value: string | bigint | number }
    | {
        readonly kind: 'fstring';
        readonly parts: readonly (string | { value: Expression; conversion: 'str' | 'repr' })[];
      }
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'list' | 'tuple'; readonly items: readonly Expression[] }
    | { readonly kind: 'dict'; readonly entries: readonly (readonly [Expression, Expression])[] }
    | {
        readonly kind: 'comprehension';
        /** One expression makes a list, two a dict. */
        readonly item: readonly [Expression] | readonly [Expression, Expression];
        readonly clauses: readonly Clause[];
        readonly locals: ReadonlySet<string>;
      }
    | ({ readonly kind: 'lambda' } & FunctionSyntax)
    | { readonly kind: 'conditional'; readonly test: Expression; readonly yes: Expression; readonly no: Expression }
    | { readonly kind: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
    | { readonly kind: 'unary'; readonly operator: 'not' | '-' | '+' | '~'; readonly operand: Expression }
    | {
        readonly kind: 'binary';
        readonly operator: BinaryOperator;
        readonly left: Expression;
        readonly right: Expression;
      }
    | { readonly kind: 'call'; readonly callee: Expression; readonly args: readonly Argument[] }
    /** Two indices are for types: `dict[str, int]`. */
    | { readonly kind: 'index'; readonly target: Expression; readonly index: Expression; readonly second?: Expression }
    | {
        readonly kind: 'slice';
        readonly target: Expression;
        readonly bounds: readonly [Expression | undefined, Expression | undefined, Expression | undefined];
      }
    | { readonly kind: 'attribute'; readonly target: Expression; readonly name: string }
  );

export type Statement = Span &
  (
    | { readonly kind: 'expression'; readonly value: Expression }
    | { readonly kind: 'assign'; readonly target: Expression; readonly type?: Expression; readonly value: Expression }
    | {
        readonly kind: 'update';
        readonly target: Expression;
        readonly operator: BinaryOperator;
        readonly value: Expression;
      }
    | { readonly kind: 'def'; readonly name: string; readonly nameSpan: Span; readonly syntax: FunctionSyntax }
    | {
        readonly kind: 'if';
        readonly test: Expression;
        readonly yes: readonly Statement[];
        readonly no: readonly Statement[];
      }
    | {
        readonly kind: 'for';
        readonly target: Expression;
        readonly over: Expression;
        readonly body: readonly Statement[];
      }
    | { readonly kind: 'return'; readonly value?: Expression }
    | { readonly kind: 'load'; readonly module: string; readonly names: readonly string[] }
    | { readonly kind: 'break' | 'continue' | 'pass' }
  );
