/** A function that makes its value at the first call and then returns the same one: for constants of a machine or process. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
