import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type Json, type JsonObject, parseJson } from './json.ts';

/** One step of preparing the work directory; `path` is relative to it. */
export interface SetupStep {
  op: 'mkdir' | 'write' | 'symlink' | 'chmod';
  path: string;
  text?: string;
  target?: string;
  mode?: string;
}

export interface HttpExchange {
  request?: { method: string; path: string; headers: Record<string, string> };
  response: { status: number; body?: string };
  note?: string;
}

/** One line of a transcript. `conn` names the connection, the first being A. */
export type Line = { conn: string } & (
  | { dir: 'send'; msg: JsonObject }
  | { dir: 'send-raw'; raw: string }
  | { dir: 'send-raw'; base64: string; binary: true }
  | { dir: 'send-fill'; prefix: string; item: string; separator: string; count: number; suffix: string }
  | { dir: 'recv'; msg: JsonObject }
  | { dir: 'closed'; code: number | 'any' }
  | { dir: 'sleep'; ms: number }
  | { dir: 'touch'; path: string }
  | ({ dir: 'http' } & HttpExchange)
  | { dir: 'note'; text: string }
);

export interface Transcript {
  scenario: string;
  note: string;
  serverArgs: string[];
  serverEnv: Record<string, string>;
  setup: SetupStep[];
  transport: 'websocket' | 'stdio';
  /** Captured between the real client and the real server, not scripted. */
  fromRealClient: boolean;
  lines: Line[];
}

const golden = join(import.meta.dirname, 'golden');

/** All recorded transcripts, by name. */
export function loadTranscripts(): Transcript[] {
  const files = readdirSync(golden).filter((name) => name.endsWith('.jsonl'));
  return files.sort().map((name) => parseTranscript(readFileSync(join(golden, name), 'utf8')));
}

export function parseTranscript(text: string): Transcript {
  const [head, ...lines] = text.split('\n').filter((line) => line !== '');
  const header = parseJson(head ?? '') as unknown as Partial<Transcript> & { perspective?: string };
  return {
    scenario: header.scenario ?? '',
    note: header.note ?? '',
    serverArgs: header.serverArgs ?? [],
    serverEnv: header.serverEnv ?? {},
    setup: header.setup ?? [],
    transport: header.transport ?? 'websocket',
    fromRealClient: header.perspective === 'real client',
    lines: lines.map(parseLine),
  };
}

function parseLine(text: string): Line {
  const line = parseJson(text);
  if (!isObject(line)) throw new Error(`not a transcript line: ${text}`);
  const conn = typeof line.conn === 'string' ? line.conn : 'A';
  if (line.dir !== 'recv-raw') return { ...line, conn } as Json as unknown as Line;
  return { dir: 'recv', conn, msg: parseJson(String(line.raw)) as JsonObject };
}
