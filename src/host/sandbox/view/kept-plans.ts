import { ownFiles, secretPaths } from '../../own/index.ts';
import type { Policy } from '../policy/resolution.ts';
import { type MountPlan, type PlanOptions, planMounts } from './plan.ts';
import { Survey, type SurveyRecord } from './survey.ts';

interface Known {
  readonly plan: MountPlan;
  /** What the plan was made from. */
  readonly survey: SurveyRecord;
}

/**
 * Plans for policies that come again and again. Answers about the disk are those of the moment; as long as they stay the
 * same, so does the plan.
 */
export class MountPlans {
  readonly #firstEmpty: number;
  readonly #program: (() => string) | undefined;
  /** By policy, the one used last at the end. */
  readonly #known = new Map<string, Known>();

  /** `program` tells the file that is to run first in the views. */
  constructor(firstEmpty: number, program?: () => string) {
    this.#firstEmpty = firstEmpty;
    this.#program = program;
  }

  /** What is denied by name is part of the policy; what patterns match has to be looked for every time, and is not. */
  plan(policy: Policy, deniedMatches: readonly string[]): MountPlan {
    if (policy.deniedGlobs.length > 0) return planMounts(policy, { ...this.#options(), deniedMatches });
    const key = JSON.stringify([policy, secretPaths.paths]);
    const known = this.#known.get(key);
    this.#known.delete(key);
    const current = known?.survey.holds() ? known : this.#make(policy);
    this.#known.set(key, current);
    if (this.#known.size > MOST_PLANS) this.#known.delete(this.#known.keys().next().value!);
    return current.plan;
  }

  #make(policy: Policy): Known {
    const survey = new Survey();
    return { plan: planMounts(policy, { ...this.#options(), survey }), survey: survey.record() };
  }

  #options(): PlanOptions {
    return { firstEmpty: this.#firstEmpty, ownFiles, secrets: secretPaths.paths, program: this.#program?.() };
  }
}

const MOST_PLANS = 16;
