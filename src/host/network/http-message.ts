import { ExecError, type Params, urlFault } from '../../protocol/index.ts';
import type { Environment } from '../http/index.ts';

type RequestParams = Params<'http/request'>;

/** Whether a variable, set or not, must never leave this machine. */
export type UnsendableVariable = (name: string, value: string | undefined) => boolean;

/** One outgoing request; headers are name, value, name, value. */
export interface HttpMessage {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly string[];
  /** Lower-case names of headers with a value from the environment; another origin does not get them. */
  readonly environmentHeaders: ReadonlySet<string>;
  readonly body: Uint8Array | undefined;
}

/** The message of a client's request; throws the error for an invalid one. */
export function httpMessage(params: RequestParams, env: Environment, isUnsendable: UnsendableVariable): HttpMessage {
  const method = checkedMethod(params.method);
  const url = checkedUrl(params.url);
  const headers = (params.headers ?? []).flatMap((header) => checkedHeader(header, env, isUnsendable));
  const names = new Set(headers.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase()));
  const environmentHeaders = new Set(
    (params.headers ?? []).filter(({ valueEnvVar }) => valueEnvVar != null).map(({ name }) => name.toLowerCase()),
  );
  if (!names.has('accept')) headers.push('accept', '*/*');
  if (url.username !== '' || url.password !== '') {
    const credentials = names.has('authorization') ? undefined : basicCredentials(url);
    if (credentials !== undefined) headers.push('authorization', credentials);
    url.username = '';
    url.password = '';
  }
  return { method, url, headers, environmentHeaders, body: params.bodyBase64 ?? undefined };
}

function checkedMethod(method: string): string {
  if (!TOKEN.test(method)) {
    throw new ExecError('invalidParams', 'http/request method is invalid: invalid HTTP method');
  }
  return method;
}

function checkedUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ExecError('invalidParams', `http/request url is invalid: ${urlFault(text)}`);
  }
  if (!isWeb(url)) {
    const scheme = url.protocol.slice(0, -1);
    throw new ExecError('invalidParams', `http/request only supports http and https URLs, got ${scheme}`);
  }
  return url;
}

export function isWeb(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

type Header = NonNullable<RequestParams['headers']>[number];

function checkedHeader(
  { name, value, valueEnvVar }: Header,
  env: Environment,
  isUnsendable: UnsendableVariable,
): string[] {
  if (!TOKEN.test(name)) {
    throw new ExecError('invalidParams', 'http/request header name is invalid: invalid HTTP header name');
  }
  const whole = valueEnvVar == null ? value : value + variable(name, valueEnvVar, env, isUnsendable);
  if (CONTROL_CHARACTER.test(whole)) {
    throw new ExecError(
      'invalidParams',
      `http/request header value is invalid for ${name}: failed to parse header value`,
    );
  }
  if (framing.has(name.toLowerCase())) return [];
  return [name, Buffer.from(whole, 'utf8').toString('latin1')];
}

function variable(header: string, name: string, env: Environment, isUnsendable: UnsendableVariable): string {
  const refuse = (reason: string) => new ExecError('invalidParams', `http/request header ${header} ${reason} ${name}`);
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (isUnsendable(name, value)) throw refuse('cannot use executor environment variable');
  if (value === undefined) throw refuse('requires executor environment variable');
  if (value === '') throw refuse('requires a non-empty executor environment variable');
  return value;
}

/** Undefined if the user is not UTF-8; a password that is not UTF-8 counts as empty. */
function basicCredentials({ username, password }: URL): string | undefined {
  const user = percentDecoded(username);
  return user === undefined
    ? undefined
    : `Basic ${Buffer.from(`${user}:${percentDecoded(password) ?? ''}`).toString('base64')}`;
}

/** A percent sign without two digits behind it stands for itself. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replace(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return undefined; // the escaped bytes are not UTF-8
  }
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const CONTROL_CHARACTER = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Headers about the connection to the next hop and the length of the body, which the HTTP client sets itself. */
const framing = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);
