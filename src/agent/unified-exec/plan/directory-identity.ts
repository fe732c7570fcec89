import { ExecError } from '../../../protocol/index.ts';
import type { CommandPlan } from './command-plan.ts';
import { pathUri } from './native-path.ts';

/** Whether the machine of a command can start it in one identified directory only. */
export const canPin = ({ info }: CommandPlan): boolean => info?.capabilities?.cwdIdentity === true;

/** The identity of the directory that a command would start in. */
export async function directoryIdentity({ backend, cwd }: CommandPlan): Promise<string> {
  const files = await backend.fileSystem();
  try {
    return (await files.getMetadata(pathUri(cwd), { identity: true })).identity ?? NONE;
  } catch (error) {
    if (error instanceof ExecError) return NONE; // the start fails with the reason, or refuses a directory that has appeared
    throw error;
  }
}

/** The identity of no directory: a command with it cannot start. */
const NONE = '0:0';
