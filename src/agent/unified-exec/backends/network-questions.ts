import type { RemoteProcess, RequestListener } from '../../../client/index.ts';
import { clientMethods, decode, ExecError, encode, type NetworkProtocol } from '../../../protocol/index.ts';

/** A server's question whether a command may connect to a host that no rule or answer covers. */
export interface NetworkQuestion {
  readonly protocol: NetworkProtocol;
  readonly host: string;
  readonly port: number;
}

export type NetworkAnswer = { readonly type: 'allow' } | { readonly type: 'deny'; readonly reason: string };

export type NetworkRequestListener = (question: NetworkQuestion, signal: AbortSignal) => Promise<NetworkAnswer>;

/** Passes each question of a server to the listener of the process that it is about. */
export class NetworkQuestionRouter {
  readonly #listeners = new Map<string, NetworkRequestListener>();
  readonly #other: RequestListener | undefined;

  /** Passes other requests of the server to `other`. */
  constructor(other: RequestListener | undefined) {
    this.#other = other;
  }

  readonly answer: RequestListener = async (method, params, signal) => {
    if (method === 'network/policyRequest') return this.#decide(params, signal);
    if (this.#other) return this.#other(method, params, signal);
    throw new ExecError('methodNotFound', `this client does not answer ${method}`);
  };

  /** Sets the listener of a process before its start, and removes it after its end. */
  async during(
    processId: string,
    listener: NetworkRequestListener,
    start: Promise<RemoteProcess>,
  ): Promise<RemoteProcess> {
    const forget = (): void => void this.#listeners.delete(processId);
    this.#listeners.set(processId, listener);
    try {
      const process = await start;
      process.wait().then(forget, forget);
      return process;
    } catch (error) {
      forget();
      throw error;
    }
  }

  async #decide(params: unknown, signal: AbortSignal): Promise<unknown> {
    const method = clientMethods['network/policyRequest'];
    const { processId, request } = decode(method.params, params);
    const listener = this.#listeners.get(processId);
    const decision = listener ? await listener(request, signal) : { type: 'deny' as const, reason: 'not_allowed' };
    return encode(method.result, { decision });
  }
}
