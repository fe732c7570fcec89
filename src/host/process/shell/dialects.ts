import { bash } from './bash-dialect.ts';
import { sh } from './sh-dialect.ts';
import type { ShellDialect } from './state.ts';
import { zsh } from './zsh-dialect.ts';

export const shellDialects: ReadonlyMap<string, ShellDialect> = new Map(Object.entries({ bash, zsh, sh }));
