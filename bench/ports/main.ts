/**
 * Connections to ports beside the pipes of processes and a bare WebSocket of `ws`: the same bytes each way, with the same client, in
 * turns. Every byte is counted at its end.
 *
 *   npm run bench:ports -- [--megabytes N] [--rounds N]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { ExecServerClient, type RemoteProcess } from '../../src/client/index.ts';
import { webSocket } from '../../src/link/index.ts';
import { useOwnHome } from '../../test/support/own-home.ts';
import { median } from '../stats.ts';
import { servePeers } from './peer.ts';

const env = { PATH: '/usr/bin:/bin' };

async function main(argv: string[]): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: {
      megabytes: { type: 'string', default: '256' },
      rounds: { type: 'string', default: '7' },
      peers: { type: 'boolean', default: false },
    },
  });
  const bytes = Number(values.megabytes) * 1024 * 1024;
  if (values.peers) return servePeers(bytes);
  const removeHome = useOwnHome();
  const server = start(['dist/bin/exec-server.cjs', '--listen', 'ws://127.0.0.1:0']);
  const peers = start([process.argv[1]!, '--peers', '--megabytes', values.megabytes]);
  try {
    const [url, ports] = await Promise.all([firstLine(server), firstLine(peers)]);
    const [sender, counter, bare] = ports.split(' ').map(Number) as [number, number, number];
    await using client = await ExecServerClient.connect(webSocket(/ws:\/\/\S+/.exec(url)![0]));
    const payload = Buffer.alloc(bytes, 'x0123456789\n');
    await compare(Number(values.rounds), bytes, {
      'process output': () => fromProcess(client, bytes),
      'from a port': () => fromPort(client, sender),
      'bare ws': () => fromWebSocket(bare),
      'process stdin': () => toProcess(client, payload),
      'to a port': () => toPort(client, counter, payload),
    });
  } finally {
    server.kill();
    peers.kill();
    removeHome();
  }
}

type Contender = () => Promise<number>;

async function compare(rounds: number, bytes: number, contenders: Readonly<Record<string, Contender>>): Promise<void> {
  const speeds = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    const entries = Object.entries(contenders);
    for (const [name, run] of round % 2 === 0 ? entries : entries.toReversed()) {
      const started = performance.now();
      const arrived = await run();
      if (arrived !== bytes) throw new Error(`${name}: ${arrived} of ${bytes} bytes arrived`);
      if (round > 0) speeds.get(name)!.push(bytes / 1e3 / (performance.now() - started)); // the first round warms up
    }
  }
  for (const [name, each] of speeds) {
    const [least, most] = [Math.min(...each), Math.max(...each)].map((speed) => speed.toFixed(0));
    console.log(`${name.padEnd(16)} ${median(each).toFixed(0)} MB/s [${least}..${most}]`);
  }
  const ratio = (one: string, other: string): void => {
    const quotients = speeds.get(one)!.map((speed, round) => speed / speeds.get(other)![round]!);
    console.log(`${one} / ${other}: ${median(quotients).toFixed(2)}`);
  };
  ratio('from a port', 'process output');
  ratio('to a port', 'process stdin');
  ratio('from a port', 'bare ws');
}

async function fromProcess(client: ExecServerClient, bytes: number): Promise<number> {
  const child = await client.start({ argv: ['head', '-c', String(bytes), '/dev/zero'], env });
  return await lengthOf(child.output);
}

async function fromPort(client: ExecServerClient, port: number): Promise<number> {
  await using stream = await client.openPort({ port });
  let length = 0;
  for await (const part of stream) length += part.length;
  return length;
}

async function fromWebSocket(port: number): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  let length = 0;
  socket.on('message', (data: Buffer) => {
    length += data.length;
  });
  await once(socket, 'close');
  return length;
}

async function toProcess(client: ExecServerClient, payload: Uint8Array): Promise<number> {
  const child = await client.start({ argv: ['wc', '-c'], env, pipeStdin: true });
  const { stdout } = await child.communicate(payload);
  return Number(Buffer.from(stdout).toString());
}

async function toPort(client: ExecServerClient, port: number, payload: Uint8Array): Promise<number> {
  await using stream = await client.openPort({ port });
  await stream.write(payload);
  await stream.end();
  let text = '';
  for await (const part of stream) text += Buffer.from(part).toString();
  return Number(text);
}

async function lengthOf(output: RemoteProcess['output']): Promise<number> {
  let length = 0;
  for await (const { bytes } of output) length += bytes.length;
  return length;
}

const start = (argv: readonly string[]): ChildProcess =>
  spawn(process.execPath, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, EXEC_SERVER_LOG: 'warn' },
  });

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return line;
}

void main(process.argv.slice(2));
