/** Thrown for a policy that cannot be enforced as it is written: the command is not started. */
export class UnenforceablePolicy extends Error {
  override readonly name = 'UnenforceablePolicy';
}
