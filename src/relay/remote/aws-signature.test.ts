import { describe, expect, it } from 'vitest';
import { signRequest } from './aws-signature.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const at = new Date('2015-08-30T12:36:00Z');

describe('an AWS signature', () => {
  it('is the one of the example that AWS publishes', () => {
    const url = new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08');
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };

    const signed = signRequest(
      { method: 'GET', url, headers },
      credentials,
      { region: 'us-east-1', service: 'iam' },
      at,
    );

    expect(signed).toEqual({
      'x-amz-date': '20150830T123600Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    });
  });

  it('covers the token of temporary keys', () => {
    const url = new URL('wss://example.com/a%20b?x=1');
    const scope = { region: 'eu-west-1', service: 'execute-api' };

    const signed = signRequest({ method: 'GET', url }, { ...credentials, sessionToken: 'temporary' }, scope, at);

    expect(signed['x-amz-security-token']).toBe('temporary');
    expect(signed.authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,');
  });
});
