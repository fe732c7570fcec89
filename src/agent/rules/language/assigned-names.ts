import type { Expression, Statement } from './syntax.ts';

/** The names that statements assign. Names inside a function are local to it and left out. */
export function assignedNames(statements: readonly Statement[]): string[] {
  return statements.flatMap((statement) => {
    switch (statement.kind) {
      case 'assign':
      case 'update':
        return targetNames(statement.target);
      case 'def':
        return [statement.name];
      case 'load':
        return [...statement.names];
      case 'if':
        return [...assignedNames(statement.yes), ...assignedNames(statement.no)];
      case 'for':
        return [...targetNames(statement.target), ...assignedNames(statement.body)];
      default:
        return [];
    }
  });
}

export function targetNames(target: Expression): string[] {
  if (target.kind === 'name') return [target.name];
  return target.kind === 'list' || target.kind === 'tuple' ? target.items.flatMap(targetNames) : [];
}
