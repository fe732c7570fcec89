import { basename } from 'node:path';

/** Prefixes that would allow nearly every command: interpreters, shells, and programs that start others. */
const TOO_BROAD: Readonly<Record<string, readonly string[]>> = {
  'Rscript env git osascript pypy pypy3 pythonw pyw rm sudo': [''],
  'doas nice nohup npx setsid ssh stdbuf time timeout uvx xargs': [''],
  'bash sh zsh': ['', '-c', '-lc'],
  'dash fish ksh': ['', '-c'],
  'julia lua node nodejs perl ruby': ['', '-e'],
  'python python3': ['', '-', '-c'],
  py: ['', '-3'],
  php: ['', '-r'],
  bun: ['', '-e', 'run'],
  deno: ['', 'eval'],
  'npm pnpm yarn': ['run'],
  'cmd cmd.exe': ['', '/c', '/k'],
  'powershell powershell.exe': ['', '-Command', '-EncodedCommand', '-File', '-c'],
  pwsh: ['', '-Command', '-EncodedCommand', '-File', '-c', '-e', '-ec', '-f'],
};

const prefixes = new Set(
  Object.entries(TOO_BROAD).flatMap(([programs, flags]) =>
    programs.split(' ').flatMap((program) => flags.map((flag) => (flag === '' ? program : `${program} ${flag}`))),
  ),
);

/** Whether a rule for exactly these words should not be offered, in whichever directory the program lies. */
export function isTooBroad([program, ...flags]: readonly string[]): boolean {
  return program === undefined || (flags.length <= 1 && prefixes.has([basename(program), ...flags].join(' ')));
}
