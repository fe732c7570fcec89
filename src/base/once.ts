/** A function that makes its value at the first call and gives the same one ever after: for constants of a machine or process. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
