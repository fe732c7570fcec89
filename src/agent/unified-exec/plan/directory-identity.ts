import { ExecError } from '../../../protocol/index.ts';
import type { CommandPlan } from './command-plan.ts';
import { pathUri } from './native-path.ts';

/** Whether the machine of a command can tell its directory from another that takes its place. */
export const canPin = ({ info }: CommandPlan): boolean => info?.capabilities?.cwdIdentity === true;

/** Which directory a command would start in. */
export async function directoryIdentity({ backend, cwd }: CommandPlan): Promise<string> {
  const files = await backend.fileSystem();
  try {
    return (await files.getMetadata(pathUri(cwd), { identity: true })).identity ?? NONE;
  } catch (error) {
    if (error instanceof ExecError) return NONE; // the start says why, or refuses what is there by then
    throw error;
  }
}

/** No directory has it: a command that is pinned to it starts nowhere. */
const NONE = '0:0';
