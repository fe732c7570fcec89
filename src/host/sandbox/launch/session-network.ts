import { ExecError } from '../../../protocol/index.ts';
import { DescriptorChannel, NetworkNamespace } from '../../os/index.ts';
import { type InstalledBubblewrap, requireUsable, type UsableBubblewrap } from './bubblewrap.ts';
import { lastLine, STAGE_STARTED, trialArgs } from './bubblewrap-trial.ts';
import { stageProgram } from './stage.ts';
import { runTrialProgram } from './trial-program.ts';

/**
 * A network that the commands of one session share: a loopback, and nothing else. bubblewrap makes it for a small program that sends
 * it here and ends (native/stage/network.c), so no process has to be kept for it, and no end of this program leaves it behind.
 */
export class SessionNetwork implements Disposable {
  readonly #maker: NetworkMaker;
  readonly #mark: () => bigint;
  #making: Promise<NetworkNamespace> | undefined;
  #namespace: NetworkNamespace | undefined;
  #isOver = false;

  constructor(maker: NetworkMaker, mark: () => bigint) {
    this.#maker = maker;
    this.#mark = mark;
  }

  /** The namespace, if a command has asked for one. */
  get existing(): NetworkNamespace | undefined {
    return this.#namespace;
  }

  /** The namespace, which the first call makes. Rejects if that is impossible here; a later call tries again. */
  async namespace(): Promise<NetworkNamespace> {
    this.#making ??= this.#make();
    return await this.#making;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#namespace?.[Symbol.dispose]();
    this.#namespace = undefined;
  }

  async #make(): Promise<NetworkNamespace> {
    try {
      const namespace = await this.#maker.make(this.#mark);
      if (this.#isOver) namespace[Symbol.dispose]();
      else this.#namespace = namespace;
      return namespace;
    } catch (error) {
      this.#making = undefined;
      throw error;
    }
  }
}

/** Makes networks for sessions with the bubblewrap of this machine. */
export class NetworkMaker {
  readonly #bubblewrap: InstalledBubblewrap;
  /** Whether a sandbox has been made in such a network here. */
  #isTried = false;

  constructor(bubblewrap: InstalledBubblewrap) {
    this.#bubblewrap = bubblewrap;
  }

  /** `mark` gives the family marks of the programs that this takes. */
  async make(mark: () => bigint): Promise<NetworkNamespace> {
    const bubblewrap = requireUsable(await this.#bubblewrap.triedLater());
    const namespace = await receivedFrom(bubblewrap, mark());
    try {
      if (!this.#isTried) await tryIn(namespace, bubblewrap, mark());
      this.#isTried = true;
      return namespace;
    } catch (error) {
      namespace[Symbol.dispose]();
      throw error;
    }
  }
}

/**
 * The first user namespace that bubblewrap makes owns the network; with `--dev` it would make a second one below, which may not enter
 * the network.
 */
async function receivedFrom({ path }: UsableBubblewrap, mark: bigint): Promise<NetworkNamespace> {
  using channel = new DescriptorChannel();
  const view = ['--ro-bind', '/proc', '/proc', '--ro-bind', stageProgram(), '/stage'];
  const namespaces = ['--die-with-parent', '--unshare-user', '--unshare-net', '--cap-drop', 'ALL'];
  const argv = [path, ...namespaces, ...view, '--', '/stage', 'network', '3'];
  const running = runTrialProgram({ argv, inherit: [channel.childEnd], mark });
  const [[descriptor], { status, stderr }] = await Promise.all([channel.receive(), running]);
  if (descriptor === undefined) throw impossible(lastLine(stderr, status));
  return new NetworkNamespace(descriptor);
}

/** Makes a sandbox inside, as for a command. */
async function tryIn(network: NetworkNamespace, { path, proc }: UsableBubblewrap, mark: bigint): Promise<void> {
  const argv = [...joining(3), path, ...trialArgs(proc, 'launcher')];
  const { status, stderr } = await runTrialProgram({ argv, inherit: [network.descriptor], mark });
  if (status !== STAGE_STARTED) throw impossible(lastLine(stderr, status));
}

/** What precedes the path and arguments of a launcher that is to work in the network whose descriptor it inherits. */
export const joining = (descriptor: number): readonly string[] => [stageProgram(), 'join', String(descriptor)];

const impossible = (reason: string): ExecError =>
  new ExecError(
    'internal',
    `network: loopback cannot be made here (${reason}); send network: off for a command without a network`,
    { details: { subject: 'sandbox' } },
  );
