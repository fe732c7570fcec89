import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect } from 'vitest';
import { Scope } from '../../src/base/index.ts';
import { CuttableProxy } from '../support/cuttable-proxy.ts';
import { numbersTo, sha256 } from '../support/digest.ts';
import { BackgroundProgram } from '../support/remote-programs.ts';
import { serverProgram } from '../support/server.ts';
import { NatsServers, Nodes } from '../system/rendezvous/cluster-fixture.ts';
import type { FaultRig } from './fault-rig.ts';

type Node = Awaited<ReturnType<Nodes['spawn']>>;

/** So many that a cut comes before all of them have passed. */
const LINES = 1_000_000;

/**
 * The server of a rig as an environment behind a relay: `forward` has registered it with the first of two nodes, harnesses come
 * to the second, NATS is between them, and every connection to a node can be cut.
 */
export class RelayBetween implements AsyncDisposable {
  readonly nats: NatsServers;
  readonly forward: BackgroundProgram;
  /** The proxies to the first node and to the second. */
  readonly proxies: readonly CuttableProxy[];
  /** The harness whose output is on its way. */
  harness: ChildProcessByStdio<null, Readable, null> | undefined;
  readonly #rig: FaultRig;
  readonly #nodes: Nodes;
  readonly #running: Node[];
  readonly #scope: Scope;

  private constructor(
    rig: FaultRig,
    scope: Scope,
    parts: Pick<RelayBetween, 'nats' | 'forward' | 'proxies'>,
    nodes: Nodes,
    running: Node[],
  ) {
    this.nats = parts.nats;
    this.forward = parts.forward;
    this.proxies = parts.proxies;
    this.#rig = rig;
    this.#nodes = nodes;
    this.#running = running;
    this.#scope = scope;
  }

  static async start(rig: FaultRig): Promise<RelayBetween> {
    const scope = new Scope();
    scope.defer(() => rig.unwatchPrograms());
    const nats = scope.own(await NatsServers.start(1));
    const nodes = scope.own(new Nodes(nats));
    const proxies: CuttableProxy[] = [];
    const running: Node[] = [];
    for (let n = 0; n < 2; n++) {
      const proxy = scope.own(await CuttableProxy.start('ws://127.0.0.1:1'));
      running.push(await nodes.spawn(['--public-url', httpOf(proxy)]));
      proxy.retarget(running[n]!.url);
      proxies.push(proxy);
    }
    const args = [
      'forward',
      '--connect',
      rig.server.url,
      '--remote',
      httpOf(proxies[0]!),
      '--environment-id',
      'behind',
    ];
    const forward = scope.own(new BackgroundProgram({ args, env: { CODEX_API_KEY: nodes.tokens.executor } }));
    await forward.logs('rendezvous.connected');
    const relay = new RelayBetween(rig, scope, { nats, forward, proxies }, nodes, running);
    await relay.#prints(1000, async () => {});
    rig.watchProgram('forward', forward);
    for (const [n, node] of running.entries()) rig.watchProgram(`node ${n}`, node.child);
    return relay;
  }

  /** The process of a node. */
  node(n: number): Node['child'] {
    return this.#running[n]!.child;
  }

  /** Kills a node; another one takes its place. */
  async replaceNode(n: number): Promise<void> {
    const child = this.node(n);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    const next = await this.#nodes.spawn(['--public-url', httpOf(this.proxies[n]!)]);
    this.#running[n] = next;
    this.proxies[n]!.retarget(next.url);
    this.#rig.watchProgram(`node ${n}`, next.child);
  }

  /** Stops a program while the server is used by others, and lets it go on. */
  async pause(program: { kill(signal: NodeJS.Signals): unknown }): Promise<void> {
    program.kill('SIGSTOP');
    await this.#rig.serves();
    program.kill('SIGCONT');
  }

  /** A harness gets every byte of a long output although the fault happens in the middle of it. */
  async carriesEverything(fault: () => Promise<unknown>): Promise<void> {
    await this.#prints(LINES, fault);
  }

  async #prints(lines: number, fault: () => Promise<unknown>): Promise<void> {
    const wanted = numbersTo(lines);
    const args = [
      'run',
      '--remote',
      httpOf(this.proxies[1]!),
      '--environment-id',
      'behind',
      '--',
      'seq',
      '1',
      `${lines}`,
    ];
    const env = { ...process.env, CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: this.#nodes.tokens.harness };
    const harness = spawn(process.execPath, [serverProgram, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env });
    this.harness = harness;
    this.#scope.defer(() => void harness.kill('SIGKILL'));
    const ended = once(harness, 'close');
    const chunks: Buffer[] = [];
    let bytes = 0;
    let happening: Promise<unknown> | undefined;
    for await (const chunk of harness.stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > wanted.length / 4) happening ??= fault();
    }
    await happening;
    expect([sha256(Buffer.concat(chunks)), await ended]).toEqual([sha256(wanted), [0, null]]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope[Symbol.asyncDispose]();
  }
}

const httpOf = (proxy: CuttableProxy): string => proxy.url.replace('ws:', 'http:');
