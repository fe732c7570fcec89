import { createInterface } from 'node:readline/promises';
import { onAbort } from '../../base/index.ts';
import { shownLines, shownText, shownWord, shownWords } from '../rules/index.ts';
import type { ApprovalAnswer, ApprovalDecision, ApprovalRequest, Approver } from './approver.ts';
import { changeLines } from './change-lines.ts';

export interface TerminalApproverOptions {
  readonly input?: NodeJS.ReadStream;
  /** Standard error by default, as standard output is for the program's result. */
  readonly output?: NodeJS.WriteStream;
}

/** After so many unknown answers the question counts as declined. */
const MOST_TRIES = 10;

/** Asks at the terminal, one question at a time. Without a terminal every question is declined at once. */
export function terminalApprover(options: TerminalApproverOptions = {}): Approver {
  const { input = process.stdin, output = process.stderr } = options;
  let last: Promise<unknown> = Promise.resolve();
  return {
    ask(request, signal) {
      if (!input.isTTY || !output.isTTY) return Promise.resolve(unasked);
      const answer = last.then(() => askNow(request, { input, output }, signal));
      last = answer.catch(() => undefined); // the caller of `ask` gets it
      return answer;
    },
  };
}

const unasked: ApprovalAnswer = { decision: 'decline', reason: 'there is no terminal to ask at' };

async function askNow(
  request: ApprovalRequest,
  { input, output }: Required<TerminalApproverOptions>,
  signal: AbortSignal | undefined,
): Promise<ApprovalAnswer> {
  if (signal?.aborted) return { decision: 'cancel' };
  const choices = choicesFor(request);
  const stop = new AbortController();
  const cancel = (): void => stop.abort();
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('SIGINT', cancel).on('close', cancel);
  using _cancelling = onAbort(signal, cancel);
  try {
    output.write(`\n${describe(request).join('\n')}\n${choices.map(({ label }) => `  ${label}`).join('\n')}\n`);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const typed = (await lines.question('Your answer: ', { signal: stop.signal })).trim().toLowerCase();
      const chosen = choices.find(({ words }) => words.includes(typed));
      if (chosen) return { decision: chosen.decision };
    }
    return { decision: 'decline' };
  } catch (error) {
    if (stop.signal.aborted) return { decision: 'cancel' };
    throw error;
  } finally {
    lines.close();
  }
}

interface Choice {
  readonly words: readonly string[];
  readonly decision: ApprovalDecision;
  readonly label: string;
}

/** The choices for a question. The user can always decline, also when that is not offered. */
function choicesFor(request: ApprovalRequest): Choice[] {
  const rule = request.kind === 'command' ? request.proposedRule : undefined;
  const same = request.kind === 'fileChange' ? 'these files' : 'exactly this';
  const always =
    request.kind === 'network' ? `${shownText(request.host)}` : `commands that start with ${shownWords(rule ?? [])}`;
  const table: readonly (Choice & { readonly isOffered: boolean })[] = [
    { words: ['y', 'yes'], decision: 'accept', label: 'y  yes, this once', isOffered: true },
    {
      words: ['s', 'session'],
      decision: 'acceptForSession',
      label: `s  yes, and do not ask about ${same} again in this session`,
      isOffered: request.kind !== 'writeStdin',
    },
    {
      words: ['a', 'always'],
      decision: 'acceptWithRule',
      label: `a  yes, and always allow ${always}`,
      isOffered: request.availableDecisions.includes('acceptWithRule'),
    },
    { words: ['n', 'no'], decision: 'decline', label: 'n  no', isOffered: true },
    {
      words: ['d', 'never'],
      decision: 'denyWithRule',
      label: `d  no, and never allow ${always}`,
      isOffered: request.availableDecisions.includes('denyWithRule'),
    },
    { words: ['q', 'quit', 'cancel'], decision: 'cancel', label: 'q  no, and stop', isOffered: true },
  ];
  return table.filter(({ isOffered }) => isOffered);
}

function describe(request: ApprovalRequest): string[] {
  const fact = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [`  ${name.padEnd(12)}${value}`];
  const prose = (name: string, value: string | undefined): string[] => fact(name, value && shownText(value));
  const facts = [...prose('environment', request.environmentId), ...prose('reason', request.reason)];
  if (request.kind === 'network') {
    const { host, port, protocol } = request;
    const target = `${host}:${port} (${protocol})`;
    return [
      'A command wants to connect to the network.',
      ...prose('host', target),
      ...fact('command', request.argv && shownLines(request.argv)),
      ...facts,
    ];
  }
  if (request.kind === 'writeStdin') {
    const title = 'Text is to be typed into a terminal outside the sandbox.';
    return [title, ...fact('text', shownWord(request.input)), ...fact('started in', shownWord(request.cwd)), ...facts];
  }
  if (request.kind === 'fileChange') {
    const beyond = request.outside.length > 0 ? ' that the sandbox protects' : '';
    return [`Files${beyond} are to be changed.`, ...changeLines(request.changes).map((line) => `  ${line}`), ...facts];
  }
  const leaves = request.sandboxPermissions === 'require_escalated' ? ' outside the sandbox' : '';
  const more = request.additionalPermissions && JSON.stringify(request.additionalPermissions);
  return [
    `A command wants to run${leaves}.`,
    ...fact('command', shownLines(request.argv)),
    ...fact('directory', shownWord(request.cwd)),
    ...prose('permissions', more),
    ...facts,
  ];
}
