import { deferred } from '../../base/index.ts';
import { ExecError, limits, type Params } from '../../protocol/index.ts';
import { type Engine, type FileRequest, parseResult, type ResultText, resultText } from '../engine/index.ts';
import { AnswerSlots } from './answer-slots.ts';

/** What the engine answers to a part of a search. */
interface Slice {
  readonly matches: readonly unknown[];
  readonly errors: readonly unknown[];
  readonly filesSearched: number;
  readonly skipped: unknown;
  readonly truncated: boolean;
  /** The number to go on with; 0 when the search is over. */
  readonly search: number;
}

/** The searches of one client. Each is done in slices: between two it can be cancelled, and a helper answers others. */
export class Searches implements AsyncDisposable {
  readonly #running = new Set<Search>();
  readonly #slots: AnswerSlots | undefined;
  #closed = false;

  constructor(sendsAnswers: boolean) {
    if (sendsAnswers) this.#slots = new AnswerSlots();
  }

  /** `inOrder` has the search begin after earlier changes. */
  async run(
    params: Params<'fs/search'>,
    engine: () => Engine,
    inOrder: (start: () => Promise<ResultText>) => Promise<ResultText>,
  ): Promise<ResultText> {
    if (this.#closed) throw new ExecError('invalidRequest', 'the connection is closed');
    if (params.searchId != null && this.#find(params.searchId)) {
      throw new ExecError('invalidRequest', `search \`${params.searchId}\` is running already`);
    }
    const search = new Search(params);
    this.#running.add(search);
    const start = async () => search.run(engine());
    try {
      return await inOrder(async () => (this.#slots ? this.#slots.run(start) : start()));
    } finally {
      this.#running.delete(search);
      search.over.resolve();
    }
  }

  /** Whether there was such a search. */
  cancel(searchId: string): boolean {
    const search = this.#find(searchId);
    search?.cancel();
    return search !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#slots?.[Symbol.dispose]();
    for (const search of this.#running) search.cancel();
    await Promise.all([...this.#running].map(({ over }) => over.promise));
  }

  #find(searchId: string): Search | undefined {
    return [...this.#running].find(({ id }) => id === searchId);
  }
}

class Search {
  readonly id: string | undefined;
  readonly over = deferred();
  readonly #request: FileRequest;
  #cancelled = false;

  constructor(params: Params<'fs/search'>) {
    this.id = params.searchId ?? undefined;
    this.#request = searchRequest(params);
  }

  cancel(): void {
    this.#cancelled = true;
  }

  async run(engine: Engine): Promise<ResultText> {
    const matches: unknown[] = [];
    const errors: unknown[] = [];
    let request = this.#request;
    const microseconds = engine.answersInTurn ? SLICE_IN_TURN : SLICE_ON_OWN_THREAD;
    let slice = nothing;
    while (!this.#cancelled) {
      slice = parseResult(await engine.execute(request)) as Slice;
      matches.push(...slice.matches);
      errors.push(...slice.errors);
      request = { operation: 'searchOn', numbers: [slice.search, microseconds] };
      if (slice.search === 0) break;
    }
    const cancelled = this.#cancelled && (slice === nothing || slice.search !== 0);
    if (slice.search !== 0) await engine.execute({ operation: 'searchEnd', numbers: [slice.search] });
    const { truncated, filesSearched, skipped } = slice;
    return resultText({ matches, truncated, cancelled, filesSearched, skipped, errors });
  }
}

/** Microseconds: so long other calls of the same helper wait, at most. Shorter slices cost more time on a busy machine. */
const SLICE_IN_TURN = 20_000;
/** Where nothing else waits, a cancelled search goes on for so long. */
const SLICE_ON_OWN_THREAD = 100_000;

/** Of a search that was cancelled before it began. */
const nothing: Slice = {
  matches: [],
  errors: [],
  filesSearched: 0,
  skipped: { binary: 0, unreadable: 0, tooLarge: 0 },
  truncated: false,
  search: 0,
};

/** The numbers are the engine's (native/search/search.h). */
const searchFlags = { regex: 1, caseInsensitive: 2, gitignore: 4, hidden: 8 } as const;

const UNLIMITED = 2n ** 64n - 1n;

function searchRequest(params: Params<'fs/search'>): FileRequest {
  const { path, name, content, gitignore, hidden, maxMatches, maxMatchesPerFile, maxFileBytes } = params;
  const flag = (which: keyof typeof searchFlags, set: boolean | null | undefined): number =>
    set ? searchFlags[which] : 0;
  const numbers = BigUint64Array.of(
    BigInt(
      flag('regex', content?.regex != null) |
        flag('caseInsensitive', content?.caseInsensitive) |
        flag('gitignore', gitignore) |
        flag('hidden', hidden),
    ),
    BigInt(maxMatches ?? limits.searchMatchesByDefault),
    maxMatchesPerFile == null ? UNLIMITED : BigInt(maxMatchesPerFile),
    maxFileBytes == null ? UNLIMITED : BigInt(maxFileBytes),
    BigInt(limits.searchAnswerBytes),
  );
  const texts = Buffer.from(`${name ?? ''}\0${content?.literal ?? content?.regex ?? ''}\0`);
  return { operation: 'search', paths: [path], payload: Buffer.concat([new Uint8Array(numbers.buffer), texts]) };
}
