import { expect, it } from 'vitest';
import { AccessTokens, parseTokens, tokenDigest } from '../../../src/access/index.ts';
import { FileTokens } from '../../../src/relay/rendezvous/index.ts';
import { Endpoint, randomKey, startRendezvous } from './fixture.ts';

const shown = { executor: 'box', harness: 'agent', admin: 'ops' };
const tokensWith = (scopes: readonly string[]) => {
  const entry = (name: string, granted: readonly string[]) => ({
    ...{ name, sha256: tokenDigest(name), scopes: granted, environments: ['*'] },
  });
  return parseTokens(JSON.stringify({ tokens: [entry('box', ['executor']), entry('agent', scopes)] }));
};

it('a harness whose token grants something else has to come back: its socket, URLs and authorizations are good no more', async () => {
  const known = new AccessTokens(tokensWith(['harness', 'run', 'view']));
  const access = { shown, tokens: [], verifier: new FileTokens(known) };
  await using service = await startRendezvous({ access });
  await using environment = await service.environment();
  await using harness = await service.harness();
  const key = randomKey();
  const [one, two] = [await service.connect('env', key), await service.connect('env', key)];
  expect(await service.validate('env', one.body, key)).toMatchObject({ harness: { scopes: ['run', 'view'] } });

  known.replace(tokensWith(['harness', 'view']));

  expect(await harness.closed).toBe(1012);
  expect(await service.validate('env', two.body, key)).toEqual({ valid: false });
  await expect(Endpoint.open(two.body.url!)).rejects.toThrow('401');
  expect(environment.ws.readyState).toBe(environment.ws.OPEN);
  const again = await service.connect('env', key);
  expect(await service.validate('env', again.body, key)).toMatchObject({ harness: { scopes: ['view'] } });
  await using _returned = await Endpoint.open(again.body.url!);
});
