import { type SandboxMode, sandboxModes } from '../agent/unified-exec/index.ts';
import { UsageError } from './usage-error.ts';

/** Parses the value of `--sandbox`. */
export function parseSandboxMode(text: string): SandboxMode {
  const mode = sandboxModes.find((known) => known === text);
  if (mode) return mode;
  throw new UsageError(`invalid value '${text}' for --sandbox: expected ${sandboxModes.join(', ')}`);
}
