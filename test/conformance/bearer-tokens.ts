import { createHmac } from 'node:crypto';

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(Date.now() / 1000);
const rightful = { iss: 'iss-1', aud: 'aud-1' };

function signed(claims: object, secret: string, alg = 'HS256', hash = 'sha256'): string {
  const text = `${encoded({ alg, typ: 'JWT' })}.${encoded(claims)}`;
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`;
}

const valid = (claims: object = {}) => ({ ...rightful, exp: now() + 60, ...claims });

/** The tokens of the ws-auth-jwt transcript: it describes them instead of holding them. */
export const bearerTokens: Record<string, (secret: string) => string> = {
  'valid claims exp now+60, iss, aud string': (secret) => signed(valid(), secret),
  'aud as array containing the expected value': (secret) => signed(valid({ aud: ['other', 'aud-1'] }), secret),
  'no exp claim': (secret) => signed(rightful, secret),
  'exp as string': (secret) => signed(valid({ exp: String(now() + 60) }), secret),
  'expired 20 s ago (inside skew)': (secret) => signed(valid({ exp: now() - 20 }), secret),
  'expired 40 s ago': (secret) => signed(valid({ exp: now() - 40 }), secret),
  'nbf 20 s ahead (inside skew)': (secret) => signed(valid({ nbf: now() + 20 }), secret),
  'nbf 60 s ahead': (secret) => signed(valid({ nbf: now() + 60 }), secret),
  'wrong iss': (secret) => signed(valid({ iss: 'iss-2' }), secret),
  'no iss': (secret) => signed({ aud: 'aud-1', exp: now() + 60 }, secret),
  'wrong aud': (secret) => signed(valid({ aud: 'aud-2' }), secret),
  'no aud': (secret) => signed({ iss: 'iss-1', exp: now() + 60 }, secret),
  'wrong key': (secret) => signed(valid(), `${secret} but not quite`),
  'alg none': () => `${encoded({ alg: 'none', typ: 'JWT' })}.${encoded(valid())}.`,
  'alg HS512': (secret) => signed(valid(), secret, 'HS512', 'sha512'),
  'not a JWT': () => 'not-a-jwt',
};
