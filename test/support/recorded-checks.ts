import { readFileSync } from 'node:fs';

/** What the reference answered to `execpolicy check`; outputs have lost the newline at their end. */
export interface RecordedCheck {
  readonly name: string;
  /** The texts of `p0.rules`, `p1.rules` and so on. */
  readonly rules: readonly string[];
  readonly flags: readonly string[];
  readonly command: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
  readonly rc: number;
}

const golden = new URL('../rules/golden/execpolicy-check.json', import.meta.url);

export const recordedChecks: readonly RecordedCheck[] = JSON.parse(readFileSync(golden, 'utf8'));
