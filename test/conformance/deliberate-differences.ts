import type { JsonObject } from './json.ts';
import type { Line, Transcript } from './transcript.ts';

/** One place where our server does something else than the reference, on purpose. */
interface DeliberateDifference {
  scenario: string;
  reason: string;
  conn?: string;
  /** The request whose answer differs. */
  id?: string | number;
  /** Our answer, without its id. */
  answer?: JsonObject;
  /** Notifications that ours sends after that answer. */
  events?: JsonObject[];
  /** A process of which the reference sends notifications and ours does not. */
  silent?: string;
  /** The message that ours sends before it closes the connection; the close code is then not compared. */
  beforeClose?: JsonObject;
}

/** A chunk that the recording does not have; a broken number puts it between two recorded events. */
const output = (processId: string, seq: number, stream: string, text: string): JsonObject => ({
  method: 'process/output',
  params: { processId, seq, stream, chunk: Buffer.from(text).toString('base64') },
});

const ended = (processId: string): JsonObject[] => [
  { method: 'process/exited', params: { processId, seq: 1, exitCode: 0, sandboxDenied: false } },
  { method: 'process/closed', params: { processId, seq: 2 } },
];

const refusedNotification = {
  reason: 'A client is told why it is cut off: an error with id -1 precedes the end.',
  beforeClose: { id: -1, error: { code: -32600, message: '<any>' } },
};

/** A skill as the transcript `capabilities-v2` lists it. */
const installedSkill = (name: string, description: string, id: string, folder: string): JsonObject => ({
  name,
  description,
  shortDescription: null,
  path: `file://<work>/${folder}/${name}/SKILL.md`,
  discoveryRoot: { id, path: `file://<work>/${folder}` },
  dependencies: null,
  policy: null,
});

export const deliberateDifferences: DeliberateDifference[] = [
  {
    scenario: 'capabilities-v2',
    id: 7,
    reason: 'Clients of the older dialect send native absolute paths.',
    answer: {
      result: {
        plugins: [],
        skills: [
          installedSkill('c1', 'codex home skill', 'codex-home-skills', 'codexhome/skills'),
          installedSkill('s1', 'first skill', 'user-agent-skills', 'home/.agents/skills'),
        ],
        warnings: [],
      },
    },
  },
  {
    scenario: 'process-start-errors',
    id: 17,
    reason: 'Clients of the older dialect send native absolute paths.',
    answer: { result: { processId: 'native', sandboxType: 'none' } },
    events: ended('native'),
  },
  {
    scenario: 'process-start-errors',
    id: 27,
    reason: 'A command must not run in another directory than the one asked for, terminal or not.',
    answer: { error: { code: -32603, message: 'No such file or directory (os error 2)' } },
    silent: 'q3',
  },
  {
    scenario: 'process-write-ids',
    id: 8,
    reason: 'Clients of the older dialect know no writeId; without one every write is a new one.',
    answer: { result: { status: 'accepted' } },
    events: [output('p', 2.1, 'stdout', 'x')],
  },
  {
    scenario: 'process-write-ids',
    id: 9,
    reason: 'An optional member may be null.',
    answer: { result: { status: 'accepted' } },
    events: [output('p', 2.2, 'stdout', 'x')],
  },
  {
    scenario: 'process-signal',
    id: 10,
    reason: 'More signals than interrupt can be sent; to a process that has exited every one is a success.',
    answer: { result: {} },
  },
  {
    scenario: 'unknown-method',
    id: 3,
    reason: 'Terminals can be resized.',
    answer: { error: { code: -32600, message: 'unknown process id p' } },
  },
  { scenario: 'unknown-notification', conn: 'A', ...refusedNotification },
  { scenario: 'unknown-notification', conn: 'B', ...refusedNotification },
  { scenario: 'request-name-as-notification', ...refusedNotification },
  { scenario: 'initialized-first', ...refusedNotification },
  {
    scenario: 'fs-errors',
    id: 10,
    reason: 'Clients of the older dialect send native absolute paths.',
    answer: { result: { dataBase64: 'aGVsbG8K' } },
  },
  {
    scenario: 'fs-path-uri',
    id: 31,
    reason: 'Clients of the older dialect send native absolute paths.',
    answer: { error: { code: -32600, message: 'path `/` is not a file' } },
  },
  {
    scenario: 'fs-read-stream',
    id: 26,
    reason: 'A file may be opened for appending.',
    answer: { result: { handleId: 'm' } },
  },
  {
    scenario: 'fs-watch-missing',
    id: 16,
    reason: 'Clients of the older dialect send native absolute paths.',
    answer: { result: { watching: true } },
  },
  {
    scenario: 'sandbox-context-errors',
    id: 3,
    reason: 'The level of a Windows sandbox need not be given to a server that has none.',
    answer: { result: { dataBase64: 'eA==' } },
  },
  {
    scenario: 'sandbox-context-errors',
    id: 6,
    reason: 'Clients of the older dialect send native absolute paths; this policy hides the file.',
    answer: { error: { code: -32004, message: 'No such file or directory (os error 2)' } },
  },
];

/** The transcript as our server is meant to play it. */
export function adapt(transcript: Transcript): Transcript {
  const own = deliberateDifferences.filter(({ scenario }) => scenario === transcript.scenario);
  return { ...transcript, lines: own.reduce(applied, transcript.lines) };
}

function applied(lines: Line[], difference: DeliberateDifference): Line[] {
  const { conn = 'A', id, answer, events = [], silent, beforeClose } = difference;
  const received = (msg: JsonObject): Line => ({ dir: 'recv', conn, msg });
  return lines.flatMap((line): Line[] => {
    if (line.conn !== conn) return [line];
    if (line.dir === 'closed' && beforeClose) return [received(beforeClose), { ...line, code: 'any' }];
    if (line.dir !== 'recv') return [line];
    if (answer && line.msg.id === id)
      return [received({ id: line.msg.id ?? null, ...answer }), ...events.map(received)];
    const about = (line.msg.params as JsonObject | undefined)?.processId;
    return silent !== undefined && about === silent ? [] : [line];
  });
}
