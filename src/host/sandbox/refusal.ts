/** A policy that cannot be enforced as it is written: the command is not started. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
