import { basename, posix } from 'node:path';
import { joinWords, plainCommands } from '../rules/index.ts';

/** The actions of a command, for users who do not read shell. */
export type CommandAction =
  | { readonly type: 'read'; readonly command: string; readonly name: string; readonly path: string }
  | { readonly type: 'listFiles'; readonly command: string; readonly path?: string }
  | { readonly type: 'search'; readonly command: string; readonly query?: string; readonly path?: string }
  | { readonly type: 'unknown'; readonly command: string };

/** Recognizes the actions of a command. One unknown part makes the whole command unknown. */
export function actionsOf(argv: readonly string[], cwd: string): CommandAction[] {
  let directory = cwd;
  const actions: CommandAction[] = [];
  for (const words of plainCommands(argv) ?? [argv]) {
    const [program, target, ...rest] = words;
    if (program === 'cd' && target !== undefined && rest.length === 0) {
      directory = posix.resolve(directory, target);
      continue;
    }
    const action = actionOf(words, directory);
    if (!action) return [whole(argv)];
    actions.push(action);
  }
  return actions.length > 0 ? actions : [whole(argv)];
}

function whole(argv: readonly string[]): CommandAction {
  const isScript = argv.length === 3 && /^-l?c$/.test(argv[1]!);
  return { type: 'unknown', command: isScript ? argv[2]! : joinWords(argv) };
}

function actionOf(words: readonly string[], directory: string): CommandAction | undefined {
  const [program, ...args] = words;
  const command = joinWords(words);
  const read = (files: readonly string[]): CommandAction | undefined => {
    if (files.length !== 1) return undefined;
    return { type: 'read', command, name: basename(files[0]!), path: posix.resolve(directory, files[0]!) };
  };
  switch (program) {
    case 'cat':
    case 'nl':
      return read(operands(args));
    case 'head':
    case 'tail':
      return read(operands(args, ['-n', '-c']));
    case 'sed':
      return args[0] === '-n' && /^\d+(?:,\d+)?p$/.test(args[1] ?? '') ? read(operands(args.slice(2))) : undefined;
    case 'ls':
      return list(command, operands(args));
    case 'find':
      return find(command, args);
    case 'grep':
      return search(command, args);
    case 'rg':
      return args[0] === '--files' ? list(command, operands(args)) : search(command, args);
    case 'git':
      return args[0] === 'grep' ? search(command, args.slice(1)) : undefined;
    default:
      return undefined;
  }
}

function list(command: string, [path, ...more]: readonly string[]): CommandAction | undefined {
  if (more.length > 0) return undefined;
  return { type: 'listFiles', command, ...(path !== undefined && { path }) };
}

/** Only `-name` and `-iname` are recognized: other tests of `find` can run programs or remove files. */
function find(command: string, args: readonly string[]): CommandAction | undefined {
  const [path, test, query, ...more] = args;
  if (path?.startsWith('-') || more.length > 0) return undefined;
  if (test === undefined) return list(command, args);
  if (!/^-i?name$/.test(test) || query === undefined) return undefined;
  return { type: 'search', command, query, path: path! };
}

function search(command: string, args: readonly string[]): CommandAction | undefined {
  const [query, path, ...more] = operands(args, ['-A', '-B', '-C', '-m', '-g', '-t']);
  if (query === undefined || more.length > 0 || args.includes('--pre')) return undefined;
  return { type: 'search', command, query, ...(path !== undefined && { path }) };
}

/** The words that are neither options nor values of the options in `valued`. */
function operands(args: readonly string[], valued: readonly string[] = []): string[] {
  const end = args.indexOf('--');
  const given = end < 0 ? args : args.slice(0, end);
  const after = end < 0 ? [] : args.slice(end + 1);
  return [
    ...given.filter((word, at) => !(word.startsWith('-') && word !== '-') && !valued.includes(given[at - 1] ?? '')),
    ...after,
  ];
}
