import { createHash, createHmac } from 'node:crypto';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface AwsScope {
  readonly region: string;
  readonly service: string;
}

export interface SignedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Further headers to sign; the host and the date are signed always. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers that AWS Signature Version 4 adds to a request. */
export function signRequest(
  request: SignedRequest,
  credentials: AwsCredentials,
  { region, service }: AwsScope,
  at = new Date(),
): Record<string, string> {
  const { method, url, body = '' } = request;
  const date = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const added = { 'x-amz-date': date, ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }) };
  const headers = Object.entries({ ...request.headers, host: url.host, ...added })
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(';');
  const canonical = [
    method,
    canonicalPath(url),
    canonicalQuery(url),
    ...headers.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const key = [date.slice(0, 8), region, service, 'aws4_request'].reduce(
    (secret: string | Buffer, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key)
    .update([ALGORITHM, date, scope, sha256(canonical)].join('\n'))
    .digest('hex');
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...added, authorization };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Everything but unreserved characters in percent code, on top of the encoding the path has already. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalPath = ({ pathname }: URL): string => pathname.split('/').map(encode).join('/');

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}
