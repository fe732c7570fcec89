export async function doctorCommand(_argv: readonly string[]): Promise<number> {
  throw new Error('not yet');
}
