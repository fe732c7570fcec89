import { ExecError, type FileMethod, type Params, type PathUri } from '../../protocol/index.ts';
import { fileFlags, type ResultText, resultText } from '../engine/index.ts';
import { requireCwd } from '../sandbox/index.ts';
import type { WatchAudience } from '../watch/index.ts';
import { FileAccess, type FileAccessOptions } from './access.ts';
import { AnswerSlots } from './answer-slots.ts';
import { MissingWatch } from './missing-watch.ts';
import { handleExists, OpenFiles } from './open-files.ts';
import { PathOrder } from './path-order.ts';
import { Searches } from './searches.ts';
import { SessionFiles } from './session-files.ts';
import { isPlainFileMethod, type PlainFileMethod, wireRequests } from './wire-requests.ts';

export interface FileServiceOptions extends FileAccessOptions {
  /** Called when a watch of `fs/watchMissing` has fired. */
  readonly onMissingChanged: (watchId: number) => void;
  /** What outlives the connection; without it, that ends with this service. */
  readonly session?: SessionFiles;
  /** Whether results of `answer` are sent to a client, and `onSent` is called then: bounds how much waits to be sent. */
  readonly sendsAnswers?: boolean;
}

type FileHandlers = { readonly [M in FileMethod]?: (params: Params<M>) => ResultText | Promise<ResultText> };

/** The filesystem for one client: its requests in order where that matters, its open files, its watch. */
export class FileService implements AsyncDisposable {
  readonly #order = new PathOrder();
  readonly #files: OpenFiles;
  readonly #contents: AnswerSlots | undefined;
  /** Separate slots, because listing a directory with many entries takes longer than reading a file. */
  readonly #listings: AnswerSlots | undefined;
  readonly #access: FileAccess;
  readonly #watch: MissingWatch;
  readonly #session: SessionFiles;
  readonly #ownSession: SessionFiles | undefined;
  readonly #searches: Searches;
  readonly #handlers: FileHandlers = {
    'fs/open': (params) => this.open(params),
    'fs/readBlock': (params) => this.readBlock(params),
    'fs/writeBlock': (params) => this.writeBlock(params),
    'fs/close': (params) => this.close(params),
    'fs/watch': (params) => this.watch(params),
    'fs/unwatch': (params) => this.unwatch(params),
    'fs/watchMissing': (params) => this.watchMissing(params),
    'fs/search': (params) => this.search(params),
    'fs/searchCancel': ({ searchId }) => resultText({ cancelled: this.#searches.cancel(searchId) }),
  };

  constructor({ onMissingChanged, session, sendsAnswers, ...access }: FileServiceOptions) {
    this.#ownSession = session ? undefined : new SessionFiles({ ...access, audience: noAudience });
    this.#session = session ?? this.#ownSession!;
    if (sendsAnswers) {
      this.#contents = new AnswerSlots();
      this.#listings = new AnswerSlots();
    }
    this.#files = new OpenFiles(this.#contents);
    this.#access = new FileAccess(access);
    this.#searches = new Searches(sendsAnswers === true);
    this.#watch = new MissingWatch(onMissingChanged);
  }

  /** Answers any method of the filesystem. */
  answer<M extends FileMethod>(method: M, params: Params<M>): ResultText | Promise<ResultText> {
    const handler = this.#handlers[method];
    if (handler) return handler(params);
    return this.#call(method as PlainFileMethod, params as never, this.#slotsFor(method));
  }

  answers(method: string): method is FileMethod {
    return isPlainFileMethod(method) || Object.hasOwn(this.#handlers, method);
  }

  /** Answers a method whose result is used here and not sent. */
  call<M extends PlainFileMethod>(method: M, params: Params<M>): ResultText | Promise<ResultText> {
    return this.#call(method, params, undefined);
  }

  open(params: Params<'fs/open'>): ResultText | Promise<ResultText> {
    if (params.mode === 'append') return this.#openToAppend(params);
    const { handleId, path, mode, sandbox } = params;
    const replace = mode === 'replace';
    const request = { operation: 'open', paths: [path], flags: replace ? fileFlags.replace : 0 } as const;
    return namingPath([path], () =>
      this.#order.run([path.href], replace, () => {
        if (sandbox) requireCwd(sandbox); // before the handle is looked at, as in the reference
        if (this.#session.appending.has(handleId)) throw handleExists(handleId);
        const engine = () => this.#access.engine(sandbox, replace ? 'write' : 'read', request.paths);
        return this.#files.open(handleId, engine, request);
      }),
    );
  }

  #openToAppend({ handleId, path, sandbox }: Params<'fs/open'>): ResultText | Promise<ResultText> {
    return namingPath([path], () =>
      this.#order.run([path.href], true, () => {
        if (this.#files.has(handleId)) throw handleExists(handleId);
        const { access, appending } = this.#session;
        return appending.open(handleId, path, () => access.engine(sandbox, 'write', [path]));
      }),
    );
  }

  readBlock({ handleId, offset, len }: Params<'fs/readBlock'>): Promise<ResultText> {
    if (this.#session.appending.has(handleId)) {
      throw new ExecError('invalidRequest', `file handle \`${handleId}\` is open for appending`);
    }
    return this.#files.readBlock(handleId, offset, len);
  }

  writeBlock({ handleId, offset, chunk }: Params<'fs/writeBlock'>): Promise<ResultText> {
    const { appending } = this.#session;
    if (appending.has(handleId)) return appending.writeBlock(handleId, offset, chunk);
    return this.#files.writeBlock(handleId, offset, chunk);
  }

  async close({ handleId }: Params<'fs/close'>): Promise<ResultText> {
    await this.#files.close(handleId);
    await this.#session.appending.close(handleId);
    return resultText({});
  }

  watch({ watchId, path, recursive, sandbox }: Params<'fs/watch'>): ResultText | Promise<ResultText> {
    return namingPath([path], async () => {
      const watching = await this.#session.watches.open({ watchId, path, recursive: recursive ?? false, sandbox });
      return resultText({ watching });
    });
  }

  async unwatch({ watchId }: Params<'fs/unwatch'>): Promise<ResultText> {
    await this.#session.watches.close(watchId);
    return resultText({});
  }

  watchMissing({ watchId, missing, present }: Params<'fs/watchMissing'>): ResultText {
    return resultText({ watching: this.#watch.replace(watchId, missing, present ?? undefined) });
  }

  search(params: Params<'fs/search'>): ResultText | Promise<ResultText> {
    const { path, sandbox } = params;
    const engine = () => this.#access.engine(sandbox, 'read', [path]);
    const search = (start: () => Promise<ResultText>) => this.#order.after([path.href], start);
    return namingPath([path], () => this.#searches.run(params, engine, search));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#contents?.[Symbol.dispose]();
    this.#listings?.[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
    await this.#searches[Symbol.asyncDispose]();
    await this.#files[Symbol.asyncDispose]();
    await this.#ownSession?.[Symbol.asyncDispose]();
    await this.#access[Symbol.asyncDispose]();
  }

  /** Requests whose answers may be large need a slot. */
  #slotsFor(method: FileMethod): AnswerSlots | undefined {
    if (method === 'fs/readFile') return this.#contents;
    return method === 'fs/readDirectory' || method === 'fs/walk' ? this.#listings : undefined;
  }

  /** A request waits for its slot after its turn has come, so that later changes of the same path wait for it. */
  #call<M extends PlainFileMethod>(
    method: M,
    params: Params<M>,
    slots: AnswerSlots | undefined,
  ): ResultText | Promise<ResultText> {
    const request = wireRequests[method](params);
    const { paths, mode, sandbox } = request;
    const execute = () => this.#access.engine(sandbox, mode, paths).execute(request);
    return namingPath(paths, () =>
      this.#order.run(paths.map(hrefOf), mode === 'write', slots ? () => slots.run(execute) : execute),
    );
  }
}

/** A watch without a client has no one to tell. */
const noAudience: WatchAudience = { send: () => {}, probe: () => {} };

const hrefOf = (path: PathUri): string => path.href;

/** Adds the path to the errors of a request with one path; with two, which of them failed is unknown. */
function namingPath<T>([path, ...more]: readonly PathUri[], work: () => T | Promise<T>): T | Promise<T> {
  const fail = (error: unknown): never => {
    throw error instanceof ExecError && path && more.length === 0 ? error.with({ path: path.href }) : error;
  };
  try {
    const result = work();
    return result instanceof Promise ? result.catch(fail) : result;
  } catch (error) {
    return fail(error);
  }
}
