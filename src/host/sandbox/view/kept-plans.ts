import { ownFiles, secretPaths } from '../../own/index.ts';
import type { Policy } from '../policy/resolution.ts';
import { DiskFacts, type RecordedFacts } from './disk-facts.ts';
import { type MountPlan, type PlanOptions, planMounts } from './plan.ts';

interface KeptPlan {
  readonly plan: MountPlan;
  /** What the plan was made from. */
  readonly facts: RecordedFacts;
}

/**
 * Plans for policies that come again and again. Answers about the disk are those of the moment; as long as they stay the
 * same, so does the plan.
 */
export class MountPlans {
  readonly #firstEmpty: number;
  readonly #program: (() => string) | undefined;
  /** By policy, the one used last at the end. */
  readonly #kept = new Map<string, KeptPlan>();

  /** `program` tells the file that is to run first in the views. */
  constructor(firstEmpty: number, program?: () => string) {
    this.#firstEmpty = firstEmpty;
    this.#program = program;
  }

  /** Paths denied by name are part of the policy; matches of patterns have to be searched for every time, and are not kept. */
  plan(policy: Policy, deniedMatches: readonly string[]): MountPlan {
    if (policy.deniedGlobs.length > 0) return planMounts(policy, { ...this.#options(), deniedMatches });
    const key = JSON.stringify([policy, secretPaths.paths]);
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const current = kept?.facts.holds() ? kept : this.#make(policy);
    this.#kept.set(key, current);
    if (this.#kept.size > MOST_PLANS) this.#kept.delete(this.#kept.keys().next().value!);
    return current.plan;
  }

  #make(policy: Policy): KeptPlan {
    const facts = new DiskFacts();
    return { plan: planMounts(policy, { ...this.#options(), facts }), facts: facts.record() };
  }

  #options(): PlanOptions {
    return { firstEmpty: this.#firstEmpty, ownFiles, secrets: secretPaths.paths, program: this.#program?.() };
  }
}

const MOST_PLANS = 16;
