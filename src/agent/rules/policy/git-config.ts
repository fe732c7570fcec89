/** Keys of a repository's configuration, by section, that cannot make git run a program or reach another repository. */
const HARMLESS: Readonly<Record<string, RegExp>> = {
  core: /^(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|compression|abbrev|sharedrepository|preloadindex|untrackedcache|splitindex|commentchar|checkstat|trustctime|bigfilethreshold|looseCompression|whitespace|longpaths|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone|commitgraph|multipackindex|deltabasecachelimit|packedgitlimit|packedgitwindowsize|fsync|fsyncmethod)$/i,
  user: /^(?:name|email|useconfigonly|signingkey)$/i,
  author: /^(?:name|email)$/i,
  committer: /^(?:name|email)$/i,
  'remote.':
    /^(?:url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|skipfetchall|promisor|partialclonefilter|followremotehead)$/i,
  'branch.': /^(?:remote|merge|rebase|pushremote|description)$/i,
  branch: /^(?:autosetupmerge|autosetuprebase|sort)$/i,
  'submodule.': /^(?:url|active|branch|path|fetchrecursesubmodules)$/i,
  submodule: /^(?:active|fetchjobs)$/i,
  extensions:
    /^(?:worktreeconfig|objectformat|partialclone|refstorage|compatobjectformat|preciousobjects|noop|relativeworktrees)$/i,
  pull: /^(?:rebase|ff)$/i,
  push: /^(?:default|autosetupremote|followtags|useforceifincludes)$/i,
  fetch: /^(?:prune|prunetags|parallel|writecommitgraph|negotiationalgorithm|output)$/i,
  merge: /^(?:conflictstyle|ff|renames|renamelimit|log|stat|autostash)$/i,
  rebase: /^(?:autosquash|autostash|stat|updaterefs|missingcommitscheck|abbreviatecommands)$/i,
  diff: /^(?:algorithm|renames|renamelimit|context|interhunkcontext|mnemonicprefix|noprefix|colormoved|colormovedws|statgraphwidth|wserrorhighlight|indentheuristic|suppressblankempty)$/i,
  log: /^(?:abbrevcommit|date|decorate|follow|showroot|mailmap|excludedecoration)$/i,
  status:
    /^(?:short|branch|showstash|showuntrackedfiles|relativepaths|aheadbehind|renames|renamelimit|displaycommentprefix)$/i,
  gc: /^(?:auto|autodetach|autopacklimit|packrefs|pruneexpire|reflogexpire|reflogexpireunreachable|worktreepruneexpire|aggressivedepth|aggressivewindow|bigpackthreshold|writecommitgraph|cruftpacks)$/i,
  maintenance: /^(?:auto|strategy)$/i,
  pack: /^(?:threads|window|depth|windowmemory|compression|writebitmaps|usebitmaps|usesparse|deltacachesize|indexversion|packsizelimit|writereverseindex)$/i,
  index: /^(?:version|threads|sparse|recordendofindexentries|recordoffsettable)$/i,
  feature: /^(?:manyfiles|experimental)$/i,
  rerere: /^(?:enabled|autoupdate)$/i,
  commit: /^(?:status|verbose|cleanup|gpgsign)$/i,
  tag: /^(?:sort|gpgsign|forcesignannotated)$/i,
  init: /^(?:defaultbranch)$/i,
  advice: /^\w+$/,
  color: /^\w+$/,
  'color.': /^\w+$/,
  column: /^\w+$/,
  receive: /^(?:denycurrentbranch|denynonfastforwards|denydeletes|fsckobjects)$/i,
  transfer: /^(?:fsckobjects|hiderefs|unpacklimit)$/i,
  lfs: /^(?:repositoryformatversion)$/i,
};

/** URLs for which git runs only its own transports on this machine. */
const REMOTE_URL =
  /^(?:https?:\/\/(?!-)[^\s:][^\s]*|(?:ssh|git):\/\/(?!-)[^\s]+|(?!-)[\w.-]+@(?!-)[\w.-]+:(?![-:])[^\s]*)$/;

/** Whether an address leads to another machine by a transport of git's own. */
export const isRemoteUrl = (url: string): boolean => REMOTE_URL.test(url) && !url.includes('::');

export interface GitConfig {
  /**
   * The first line that could make git run a program, include another file, or reach a repository on this machine; undefined
   * when every line is known to be harmless. Unknown keys count as harmful.
   */
  readonly harmful: string | undefined;
  /** The names of its remotes. */
  readonly remotes: ReadonlySet<string>;
}

export function readGitConfig(text: string): GitConfig {
  const remotes = new Set<string>();
  const wanted = new Map<string, string>();
  let section = '';
  let remote: string | undefined;
  for (const line of text.split('\n').map((raw) => raw.replace(/\r$/, '').trim())) {
    if (line === '' || /^[#;]/.test(line)) continue;
    const header = /^\[\s*([A-Za-z0-9-]+)(?:\.([^\]"\s]*)|[ \t]+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)$/.exec(line);
    if (header) {
      section = (header[2] !== undefined || header[3] !== undefined ? `${header[1]}.` : header[1]!).toLowerCase();
      remote = section === 'remote.' && header[3] && !header[3].includes('\\') ? header[3] : undefined;
    }
    const setting = header ? header[4]! : line;
    if (setting === '' || /^[#;]/.test(setting)) continue;
    if (!isHarmless(section, setting)) return { harmful: line, remotes };
    if (remote !== undefined && /^url\b/i.test(setting)) remotes.add(remote);
    const used = section === 'branch.' ? /^(?:remote|pushremote)\s*=\s*"?([^"]*)"?$/i.exec(setting)?.[1] : undefined;
    if (used !== undefined && used !== '.' && !isRemoteUrl(used)) wanted.set(used, line);
  }
  // Git takes a name that is not that of a remote for a directory.
  const unknown = [...wanted].find(([name]) => !remotes.has(name));
  return { harmful: unknown?.[1], remotes };
}

function isHarmless(section: string, setting: string): boolean {
  const [, key, value = ''] = /^([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$/.exec(setting) ?? [];
  // A value that continues in the next line would hide that line.
  if (key === undefined || value.endsWith('\\') || !Object.hasOwn(HARMLESS, section)) return false;
  if (!HARMLESS[section]!.test(key)) return false;
  const isRemote = /^(?:url|pushurl)$/i.test(key) || (section === 'branch.' && /^(?:remote|pushremote)$/i.test(key));
  if (!isRemote) return true;
  const bare = value.replace(/^"([^"\\]*)"$/, '$1');
  return isRemoteUrl(bare) || (section === 'branch.' && (bare === '.' || /^\w[\w/-]*$/.test(bare)));
}
