import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { packageRoot } from './package-root.ts';

/** A way through the code, as a section of ARCHITECTURE.md describes it. */
interface Way {
  /** The ways that it goes as well. */
  readonly includes: readonly string[];
  /** The beginnings of names that it leaves out of them. */
  readonly without: readonly string[];
  /** The files of `src/` and `native/` that its numbered steps name. */
  readonly steps: readonly string[];
}

/**
 * The sections whose heading begins with "One". Numbered steps name files in code marks; a name without a folder lies in the
 * folder of the file before it. A first paragraph that begins with "After **One request**" takes in the files of that way,
 * "without `link/websocket/`" takes in no file whose name begins so.
 */
export class ArchitectureWays {
  readonly #ways: ReadonlyMap<string, Way>;

  constructor(text = readFileSync(join(packageRoot(), 'ARCHITECTURE.md'), 'utf8')) {
    const sections = text.split(/^## /m).filter((section) => section.startsWith('One '));
    this.#ways = new Map(sections.map((section) => [section.slice(0, section.indexOf('\n')), wayOf(section)]));
  }

  get names(): readonly string[] {
    return [...this.#ways.keys()];
  }

  /** All files of a way, in alphabetical order. */
  files(name: string): readonly string[] {
    const way = this.#ways.get(name);
    if (!way) throw new Error(`ARCHITECTURE.md has no section "${name}"`);
    const isWanted = (file: string) => !way.without.some((beginning) => file.startsWith(beginning));
    const before = way.includes.flatMap((other) => this.files(other)).filter(isWanted);
    return [...new Set([...before, ...way.steps])].sort();
  }
}

function wayOf(section: string): Way {
  const [introduction = '', ...steps] = section.split(/^\d+\. /m);
  const [before = '', left = ''] = introduction.split('without');
  return {
    includes: [...before.matchAll(/\*\*(One [^*]+)\*\*/g)].map(([, name]) => name!),
    without: [...left.matchAll(/`([^`]+)`/g)].map(([, beginning]) => beginning!),
    steps: steps.flatMap((step) => filesIn(step.split('\n\n')[0]!)),
  };
}

function filesIn(step: string): readonly string[] {
  let folder = '.';
  return [...step.matchAll(/`([\w/.-]+\.(?:ts|c|h))`/g)].map(([, name]) => {
    if (name!.includes('/')) folder = posix.dirname(name!);
    return posix.join(folder, posix.basename(name!));
  });
}
