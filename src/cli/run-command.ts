export async function runCommand(_argv: readonly string[]): Promise<number> {
  throw new Error('not yet');
}
