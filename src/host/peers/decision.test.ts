import { describe, expect, it } from 'vitest';
import { type PeerHolder, type PeerIdentity, type PeerProof, peerRefusal } from './decision.ts';

const OWN = 1000;
const SERVED = { own: OWN, users: new Set([0, OWN]) };
const users = { own: OWN, root: 0, other: 1001 } as const;
const holders: readonly PeerHolder[] = ['sandbox', 'family', 'elsewhere', 'outside', 'suspect', 'unseen'];

/** Every combination, and whether it is served. */
const table: readonly [peer: string, proof: PeerProof, served: boolean][] = [
  ['another host', 'none', true],
  ['another host', 'token', true],
  ['unknown', 'none', false],
  ['unknown', 'token', true],
  ['own sandbox', 'none', false],
  ['own sandbox', 'token', false],
  ['own family', 'none', false],
  ['own family', 'token', true],
  ['own elsewhere', 'none', false],
  ['own elsewhere', 'token', true],
  ['own outside', 'none', true],
  ['own outside', 'token', true],
  ['own suspect', 'none', false],
  ['own suspect', 'token', true],
  ['own unseen', 'none', true],
  ['own unseen', 'token', true],
  ['root sandbox', 'none', false],
  ['root sandbox', 'token', false],
  ['root family', 'none', false],
  ['root family', 'token', true],
  ['root elsewhere', 'none', false],
  ['root elsewhere', 'token', true],
  ['root outside', 'none', true],
  ['root outside', 'token', true],
  ['root suspect', 'none', true], // sandboxed commands have the server's own user
  ['root suspect', 'token', true],
  ['root unseen', 'none', true],
  ['root unseen', 'token', true],
  ['other sandbox', 'none', false],
  ['other sandbox', 'token', false],
  ['other family', 'none', false],
  ['other family', 'token', true],
  ['other elsewhere', 'none', false],
  ['other elsewhere', 'token', true],
  ['other outside', 'none', false],
  ['other outside', 'token', true],
  ['other suspect', 'none', false],
  ['other suspect', 'token', true],
  ['other unseen', 'none', false],
  ['other unseen', 'token', true],
];

function peerOf(words: string): PeerIdentity {
  if (words === 'another host' || words === 'unknown') return { at: words };
  const [user, holder] = words.split(' ') as [keyof typeof users, PeerHolder];
  return { at: 'this host', uid: users[user], holder };
}

describe('a peer', () => {
  it('has a decision for every combination of facts', () => {
    const combinations = 2 * (2 + Object.keys(users).length * holders.length);

    expect(new Set(table.map(([peer, proof]) => `${peer} ${proof}`)).size).toBe(combinations);
  });

  it.each(table)('%s, proof %s: served %s', (peer, proof, served) => {
    expect(peerRefusal(peerOf(peer), proof, SERVED) === undefined).toBe(served);
  });

  it('of root that is suspect is refused where the server runs as root', () => {
    expect(
      peerRefusal({ at: 'this host', uid: 0, holder: 'suspect' }, 'none', { own: 0, users: new Set([0]) }),
    ).toBeDefined();
  });

  it('that a token would help is told so', () => {
    const refusals = table
      .filter(([peer, proof, served]) => proof === 'none' && !served && !peer.endsWith('sandbox'))
      .map(([peer, proof]) => peerRefusal(peerOf(peer), proof, SERVED));

    expect(refusals.filter((text) => !text?.includes('--print-token-url'))).toEqual([]);
  });
});
