import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, type Replay } from './replay.ts';

type Act = (replay: Replay, found: RegExpExecArray) => void | Promise<void>;

/** The notes of the transcripts that tell what was done or seen beside the messages, and how the replay does or checks it. */
const acts: [RegExp, Act][] = [
  [/^connection (\w) is dropped without a close handshake/, (replay, found) => cut(replay, found[1] ?? '')],
  [/^the connection is cut here$/, (replay) => cut(replay, 'A')],
  [
    /^the work directory additionally holds a file whose name is the bytes 72 61 77 ff with content "(.*)"$/,
    addRawName,
  ],
  [/^process\/output notifications are omitted .* add up to (\d+)$/, expectOmitted],
  [
    /^\d+ s after the disconnect the process is (alive|dead)$/,
    (replay, found) => checkLife(replay, found[1] === 'alive'),
  ],
  [/^websocket ping frames received in [\d.]+ s: (\d+)$/, checkPings],
  [/^stdin is closed now$/, (replay) => replay.wire('A').drop()],
  [/^server exit code 0; the child process was killed$/, checkEnd],
];

/** Does or checks what the note says; a note without an entry above is an error. */
export async function followNote(note: string, replay: Replay): Promise<void> {
  for (const [pattern, act] of acts) {
    const found = pattern.exec(note);
    if (found) return await act(replay, found);
  }
  throw new Error(`driver-notes.ts has no entry for the note: ${note}`);
}

function cut(replay: Replay, conn: string): void {
  replay.cut.add(conn);
  replay.wire(conn).drop();
}

async function addRawName({ stage }: Replay, found: RegExpExecArray): Promise<void> {
  const name = Buffer.concat([Buffer.from(`${stage.workspace.work}/raw`), Buffer.from([0xff])]);
  await writeFile(name, found[1] ?? '');
}

async function expectOmitted(replay: Replay, found: RegExpExecArray): Promise<void> {
  replay.expectations.lifeOf({ params: { processId: 'p' } })?.expectUnrecorded(Number(found[1]));
  await replay.settled();
}

function checkLife({ stage }: Replay, alive: boolean): void {
  const pid = readFileSync(join(stage.workspace.work, 'pid'), 'utf8').trim();
  fail(existsSync(`/proc/${pid}`) === alive ? undefined : `process ${pid} should be ${alive ? 'alive' : 'dead'}`);
}

function checkPings(replay: Replay, found: RegExpExecArray): void {
  const { pings } = replay.wire('A');
  fail(pings === Number(found[1]) ? undefined : `expected ${found[1]} ping, got ${pings}`);
}

async function checkEnd({ stage }: Replay): Promise<void> {
  const code = await stage.server.ended();
  fail(code === 0 ? undefined : `the server ended with ${code}`);
  const left = await stage.workspace.inhabitants();
  fail(left.length === 0 ? undefined : `the server left processes behind: ${left}`);
}
