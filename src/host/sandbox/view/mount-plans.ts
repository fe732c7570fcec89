import { ownFiles, secretPaths } from '../../own/index.ts';
import type { AccessPolicy } from '../policy/resolution.ts';
import { DiskFacts, type RecordedFacts } from './disk-facts.ts';
import { type MountPlan, type MountPlanOptions, planMounts } from './plan.ts';

interface KeptPlan {
  readonly plan: MountPlan;
  /** The answers of the disk that the plan was made from. */
  readonly facts: RecordedFacts;
}

/**
 * The plans of recent policies, as clients send the same policy with many commands. A plan is used again as long as the disk
 * gives the same answers.
 */
export class MountPlans {
  readonly #firstEmpty: number;
  readonly #program: (() => string) | undefined;
  /** By policy, the most recently used last. */
  readonly #kept = new Map<string, KeptPlan>();

  /** `program` gives the path of the program that runs first in the views. */
  constructor(firstEmpty: number, program?: () => string) {
    this.#firstEmpty = firstEmpty;
    this.#program = program;
  }

  /** Plans for policies with patterns are not kept, because the matches have to be searched for every time. */
  plan(policy: AccessPolicy, deniedMatches: readonly string[]): MountPlan {
    if (policy.deniedGlobs.length > 0) return planMounts(policy, { ...this.#options(), deniedMatches });
    const key = JSON.stringify([policy, secretPaths.paths]);
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const current = kept?.facts.holds() ? kept : this.#make(policy);
    this.#kept.set(key, current);
    if (this.#kept.size > MOST_PLANS) this.#kept.delete(this.#kept.keys().next().value!);
    return current.plan;
  }

  #make(policy: AccessPolicy): KeptPlan {
    const facts = new DiskFacts();
    return { plan: planMounts(policy, { ...this.#options(), facts }), facts: facts.record() };
  }

  #options(): MountPlanOptions {
    return { firstEmpty: this.#firstEmpty, ownFiles, secrets: secretPaths.paths, program: this.#program?.() };
  }
}

const MOST_PLANS = 16;
