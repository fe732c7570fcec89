export const otherNodes: readonly string[];
export function nodeProgram(version: string): string;
