import { dirname } from 'node:path';
import { cautiousPolicy } from '../policy/cautious-policy.ts';
import { Policy } from '../policy/rule-set.ts';
import { type AddedRule, withRule } from './added-rule.ts';
import { appendRule } from './append-rule.ts';
import { loadPolicy, type RulesFile } from './load-policy.ts';
import { findRulesFiles, readRules, type StampedFile, stampOf } from './rules-folder.ts';

/** A set of rules, which answers of the user can add to. */
export interface Rules {
  current(): Promise<Policy>;
  add(rule: AddedRule): Promise<void>;
}

export interface RulesStoreOptions {
  /** Folders of `*.rules` files, those that matter least first. Folders that do not exist have no rules. */
  readonly folders?: readonly string[];
  /** Single files, read after the folders; they must exist. */
  readonly files?: readonly string[];
  /** The file that rules from answers are added to; without it they last as long as this object. */
  readonly addTo?: string;
  /**
   * Called when a changed file cannot be used. Where it has a mistake, the rules before the change stay in force; where it cannot
   * be read, they hold together with the readable files, and no rule allows anything until it has been read.
   */
  readonly onProblem?: (error: Error) => void;
}

/** The rules of some files, read again when they change. */
export class RulesStore implements Rules {
  readonly #options: RulesStoreOptions;
  #policy = new Policy([]);
  #state = '';
  /** Added rules that no file has. */
  readonly #unwritten: AddedRule[] = [];
  #problem = '';
  /** The last reader or writer, for which the next one waits. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: RulesStoreOptions) {
    this.#options = options;
  }

  /** Throws when the rules cannot be read or are wrong: a rule that forbids something must not get lost silently. */
  static async open(options: RulesStoreOptions): Promise<RulesStore> {
    const store = new RulesStore(options);
    const files = await store.#find();
    store.#use(files, await Promise.all(files.map(readRules)));
    return store;
  }

  /** The rules as the files have them now. */
  current(): Promise<Policy> {
    return this.#inTurn(() => this.#refresh());
  }

  /** Writes a rule, which is in force from the next call of `current` on. */
  add(rule: AddedRule): Promise<void> {
    return this.#inTurn(async () => {
      const { addTo } = this.#options;
      if (addTo === undefined) this.#unwritten.push(rule);
      else await appendRule(addTo, rule);
      this.#policy = withRule(this.#policy, rule);
    });
  }

  async #refresh(): Promise<Policy> {
    let files: StampedFile[];
    try {
      files = await this.#find();
    } catch (error) {
      this.#report(error as Error);
      return cautiousPolicy([this.#policy]);
    }
    if (stateOf(files) === this.#state) return this.#policy;
    const texts = await Promise.allSettled(files.map(readRules));
    const unread = texts.find((text) => text.status === 'rejected');
    try {
      if (unread) throw unread.reason; // `#state` stays, so the next call tries again
      this.#use(files, texts.flatMap(fulfilled));
    } catch (error) {
      this.#report(error as Error);
    }
    return unread ? cautiousPolicy([this.#policy, ...readable(texts.flatMap(fulfilled))]) : this.#policy;
  }

  #use(files: readonly StampedFile[], texts: readonly RulesFile[]): void {
    this.#state = stateOf(files); // also for files with a mistake, which would fail again
    this.#policy = this.#unwritten.reduce(withRule, loadPolicy(texts));
    this.#problem = '';
  }

  /** A problem that stays is reported once. */
  #report(error: Error): void {
    if (error.message === this.#problem) return;
    this.#problem = error.message;
    this.#options.onProblem?.(error);
  }

  async #find(): Promise<StampedFile[]> {
    const { folders = [], files = [], addTo } = this.#options;
    const found = await findRulesFiles([...new Set([...folders, ...(addTo === undefined ? [] : [dirname(addTo)])])]);
    return [...found, ...(await Promise.all(files.map(stampOf)))];
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => undefined); // the caller gets the error
    return turn;
  }
}

const fulfilled = (text: PromiseSettledResult<RulesFile>): RulesFile[] =>
  text.status === 'fulfilled' ? [text.value] : [];

/** The rules of each file that has no mistake. */
function readable(files: readonly RulesFile[]): Policy[] {
  return files.flatMap((file) => {
    try {
      return loadPolicy([file]);
    } catch {
      return []; // reported when all of them can be read
    }
  });
}

const stateOf = (files: readonly StampedFile[]): string =>
  files.map(({ path, stamp }) => `${path}\0${stamp}`).join('\0');
