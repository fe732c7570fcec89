import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { JsonObject } from './json.ts';
import { Placeholders } from './placeholders.ts';
import { Replay } from './replay.ts';
import type { ServerUnderTest } from './server-under-test.ts';
import type { Transcript } from './transcript.ts';
import type { Workspace } from './workspace.ts';

export interface PlaybackOptions {
  sequential?: boolean;
  patienceMs?: number;
}

const directories = { work: '/work', home: '/home', tmp: '/tmp' };
const values = new Placeholders({
  ...directories,
  sessionId: 'session-1',
  providerId: 'provider-1',
  codexPath: '/path',
});

const asSent = (message: JsonObject) =>
  JSON.stringify(values.fillJson(message)).replace('"<environmentInfo>"', '{"shell":{}}');

/** Replays one transcript against a server that sends what another transcript has the server send, and nothing else. */
export async function replayAgainst(played: Transcript, expected: Transcript, options: PlaybackOptions = {}) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket) => {
    const rest = [...played.lines];
    const speak = () => {
      for (let line = rest[0]; line && line.dir !== 'send'; line = rest[0]) {
        if (line.dir === 'recv') socket.send(asSent(line.msg));
        rest.shift();
      }
    };
    socket.on('message', (data) => {
      const { id } = JSON.parse(String(data)) as { id?: unknown };
      if (rest.shift()) speak();
      else socket.send(JSON.stringify({ id, result: {} }));
    });
  });
  await once(server, 'listening');
  try {
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Replay(expected, stageAt(url, options)).run();
  } finally {
    for (const client of server.clients) client.terminate();
    server.close();
  }
}

function stageAt(url: string, { sequential = true, patienceMs = 30_000 }: PlaybackOptions) {
  return {
    url,
    server: { log: '' } as ServerUnderTest,
    workspace: {} as Workspace,
    known: new Placeholders(directories),
    secret: '',
    sequential,
    inOrder: true,
    patienceMs,
    freeMembers: () => [],
  };
}
