import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type AddedRule, ruleLine } from './added-rule.ts';
import { lockFile } from './lock-file.ts';
import { LARGEST_RULES_FILE } from './rules-folder.ts';

/** Bytes of a rule; commands are much shorter. */
const LONGEST_LINE = 64 * 1024;

/**
 * Adds a rule as the last line of a file, unless the file has that line. The folder is made if its parent is there. The
 * line is one write at the end of the file, so readers and other writers see all of it or nothing.
 */
export async function appendRule(path: string, rule: AddedRule): Promise<void> {
  const line = ruleLine(rule);
  if (Buffer.byteLength(line) > LONGEST_LINE) throw new Error(`the rule is longer than ${LONGEST_LINE} bytes`);
  await mkdir(dirname(path), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await using _lock = await lockFile(`${path}.lock`);
  await using file = await openRules(path);
  await append(file, path, line);
}

/** Refuses a symbolic link: rules are not read through links, so the rule would be lost. */
async function openRules(path: string): Promise<FileHandle> {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  try {
    return await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    throw new Error(`${path} is a symbolic link, and rules are not read through links`, { cause: error });
  }
}

async function append(file: FileHandle, path: string, line: string): Promise<void> {
  const { size } = await file.stat();
  const bytes = Buffer.from(`${line}\n`);
  if (size + bytes.length + 1 > LARGEST_RULES_FILE) throw new Error(`${path} is full: remove rules you do not need`);
  const text = await file.readFile('utf8');
  if (text.split('\n').includes(line)) return;
  const added = text === '' || text.endsWith('\n') ? bytes : Buffer.concat([Buffer.from('\n'), bytes]);
  try {
    const { bytesWritten } = await file.write(added);
    if (bytesWritten < added.length) throw new Error(`${path} could not take the whole rule`);
    await file.datasync();
  } catch (error) {
    await file.truncate(size); // an incomplete line would make all rules unreadable
    throw error;
  }
}
