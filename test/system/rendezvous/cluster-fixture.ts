import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Scope } from '../../../src/base/index.ts';
import { freshTokens, type RendezvousLimits, SigningKeys } from '../../../src/relay/rendezvous/index.ts';
import { serverProgram } from '../../support/server.ts';
import { RegistryCaller, startRendezvous } from './fixture.ts';

/** Installed by the Debian package. */
const PROGRAM = '/usr/sbin/nats-server';

/** Real NATS servers on loopback, joined to one cluster with JetStream. */
export class NatsServers implements AsyncDisposable {
  readonly urls: readonly string[];
  readonly #folder: string;
  readonly #starts: (() => ChildProcess)[];
  readonly #running: ChildProcess[];

  private constructor(folder: string, ports: readonly { client: number; route: number }[], more: readonly string[]) {
    this.#folder = folder;
    this.urls = ports.map(({ client }) => `nats://127.0.0.1:${client}`);
    const routes = ports.map(({ route }) => `nats://127.0.0.1:${route}`);
    const joined = (index: number): string[] =>
      ports.length === 1
        ? []
        : ['--cluster_name', 'rendezvous', '--cluster', routes[index]!, '--routes', routes.join(',')];
    this.#starts = ports.map(({ client }, index) => () => {
      const store = join(folder, `store-${index}`);
      const args = [
        '-a',
        '127.0.0.1',
        '-p',
        `${client}`,
        '-n',
        `nats-${index}`,
        '-js',
        '-sd',
        store,
        ...joined(index),
        ...more,
      ];
      return spawn(PROGRAM, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    });
    this.#running = this.#starts.map((start) => start());
  }

  /** Resolves when all of them listen. */
  static async start(count: number, more: readonly string[] = []): Promise<NatsServers> {
    const ports = await freePorts(2 * count);
    const pairs = Array.from({ length: count }, (_, n) => ({ client: ports[2 * n]!, route: ports[2 * n + 1]! }));
    const servers = new NatsServers(await mkdtemp(join(tmpdir(), 'exec-server-nats-')), pairs, more);
    await Promise.all(servers.#running.map(listening));
    return servers;
  }

  async kill(index: number): Promise<void> {
    await ended(this.#running[index]!);
  }

  /** Kills a server whose disk is lost with it. */
  async lose(index: number): Promise<void> {
    await this.kill(index);
    await rm(join(this.#folder, `store-${index}`), { recursive: true });
  }

  signal(index: number, name: NodeJS.Signals): void {
    this.#running[index]!.kill(name);
  }

  /** Starts a server that was killed, on the same port. */
  async restart(index: number): Promise<void> {
    this.#running[index] = this.#starts[index]!();
    await listening(this.#running[index]!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running.map(ended));
    await rm(this.#folder, { recursive: true });
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function listening(child: ChildProcess): Promise<void> {
  for await (const line of createInterface({ input: child.stderr! })) {
    if (line.includes('Server is ready')) {
      child.stderr!.resume(); // or it would stop at a full pipe
      return;
    }
  }
  throw new Error('nats-server ended before it was ready');
}

async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(holders.map((holder) => once(holder, 'listening')));
  const ports = holders.map((holder) => (holder.address() as { port: number }).port);
  await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))));
  return ports;
}

/** One address for two nodes: what concerns the environment goes to the first, the rest to the second, if they live. */
export class Balancer implements AsyncDisposable {
  readonly #server = createServer((client) => void this.#connect(client));
  readonly #ports: number[] = [];

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    await once(balancer.#server.listen(0, '127.0.0.1'), 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  add(node: RegistryCaller): void {
    this.#ports.push(Number(new URL(node.url).port));
  }

  /** A node that dies takes connections until the very end: what it did not answer goes to the other. */
  async #connect(client: Socket): Promise<void> {
    client.on('error', () => client.destroy());
    const [head] = (await once(client, 'data')) as [Buffer];
    const asked = [head];
    const keep = (bytes: Buffer) => void asked.push(bytes);
    client.on('data', keep);
    const preferred = /role=environment|\/register|\/validate/.test(head.toString('latin1')) ? 0 : 1;
    for (const port of [this.#ports[preferred]!, this.#ports[1 - preferred]!]) {
      const node = connect(port, '127.0.0.1');
      client.once('close', () => node.destroy());
      const answer = await answerTo(asked, client, node);
      if (!answer) continue;
      client.off('data', keep);
      client.write(answer);
      return splice(client, node);
    }
    client.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The first bytes of the node's answer to the client's request; undefined if the node is gone before. */
async function answerTo(asked: readonly Buffer[], client: Socket, node: Socket): Promise<Buffer | undefined> {
  const forward = (bytes: Buffer) => void node.write(bytes);
  for (const bytes of asked) forward(bytes);
  client.on('data', forward);
  try {
    const closed = once(node, 'close').then(() => undefined);
    return await Promise.race([once(node, 'data').then(([bytes]) => bytes as Buffer), closed]);
  } catch {
    return undefined;
  } finally {
    client.off('data', forward);
  }
}

function splice(client: Socket, node: Socket): void {
  node.on('error', () => client.destroy());
  node.on('close', () => client.destroy());
  client.pipe(node).pipe(client);
}

/** Several nodes of one rendezvous. */
export class Nodes implements AsyncDisposable {
  readonly #nats: NatsServers;
  readonly #access = freshTokens();
  readonly #secret = randomBytes(32).toString('hex');
  readonly #scope = new Scope();
  #count = 0;

  constructor(nats: NatsServers) {
    this.#nats = nats;
  }

  /** A node in this process. */
  async start(limits: Partial<RendezvousLimits> = {}): Promise<RegistryCaller> {
    return this.#scope.own(
      await startRendezvous({
        access: this.#access,
        keys: new SigningKeys([this.#secret]),
        cluster: { servers: this.#nats.urls, node: `n${this.#count++}` },
        limits,
      }),
    );
  }

  get tokens(): RegistryCaller['tokens'] {
    return this.#access.shown;
  }

  /** A node that is a process of its own, and can be killed like one. */
  async spawn(
    more: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ): Promise<RegistryCaller & { child: ChildProcess }> {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-node-'));
    this.#scope.defer(() => rm(folder, { recursive: true }));
    const [tokens, secret] = [join(folder, 'tokens.json'), join(folder, 'secret')];
    await writeFile(tokens, JSON.stringify({ tokens: this.#access.tokens }));
    await writeFile(secret, `${this.#secret}\n`, { mode: 0o600 });
    const args = ['rendezvous', '--nats', this.#nats.urls.join(','), '--node', `n${this.#count++}`, ...more];
    const child = spawn(process.execPath, [serverProgram, ...args, '--tokens-file', tokens, '--secret-file', secret], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    this.#scope.defer(() => ended(child));
    const [url] = (await Promise.race([
      once(createInterface({ input: child.stdout! }), 'line'),
      once(child, 'exit'),
    ])) as [unknown];
    if (typeof url !== 'string') throw new Error(`the node ended with ${url} before it printed its address`);
    return Object.assign(new RegistryCaller(url, this.#access.shown), { child });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
  }
}
