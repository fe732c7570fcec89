import { EncryptedEnvironmentStreams, generateRelayKeys, publicKeyObject } from '../index.ts';
import type { ActiveRegistration } from './connection-keeper.ts';
import { type RemoteEnvironmentConfig, readEnvironmentConfig } from './environment-config.ts';
import { StreamRegistration } from './stream-registration.ts';

/** Serves as a remote environment until the signal aborts; rejects if the environment cannot be registered. */
export async function runRemoteEnvironment(config: RemoteEnvironmentConfig, signal: AbortSignal): Promise<void> {
  const { environmentId, registry, outgoing, log, keeperWith } = readEnvironmentConfig(config);
  const keys = generateRelayKeys(); // live as long as the process, and are never stored
  const register = async (stop: AbortSignal): Promise<ActiveRegistration> => {
    const { url, registrationId } = await registry.register(publicKeyObject(keys), stop);
    const streams = new EncryptedEnvironmentStreams({
      keys,
      environmentId,
      registrationId,
      validate: (harnessKey, authorization, streamId, until) =>
        registry.validate({ registrationId, harnessKey, authorization, streamId }, until),
      accept: (link, { harness }) => config.accept(link, harness),
      log,
    });
    return new StreamRegistration({ url, streams, isReusable: true, ownsStreams: true, outgoing, log });
  };
  await keeperWith(register).run(signal);
}
