/** Matches whole names against globs, ignoring case: `*` is any number of characters, `?` is one. */
export function nameMatcher(globs: readonly string[]): (name: string) => boolean {
  const patterns = globs.map(characters);
  return (name) => {
    const text = characters(name);
    return patterns.some((pattern) => matches(pattern, text));
  };
}

const characters = (text: string): string[] => [...text.toLowerCase()];

/** Goes back to the last star only, so that no glob takes longer than the product of both lengths. */
function matches(pattern: readonly string[], text: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let starTook = 0;
  for (let read = 0; read < text.length; ) {
    if (pattern[at] === '*') {
      star = at++;
      starTook = read;
    } else if (pattern[at] === '?' || pattern[at] === text[read]) {
      at++;
      read++;
    } else if (star >= 0) {
      at = star + 1;
      read = ++starTook;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every((rest) => rest === '*');
}
