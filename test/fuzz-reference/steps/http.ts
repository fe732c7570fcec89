import type { RandomSource } from '../random-source.ts';
import type { Params, Place } from '../step.ts';

const methods = ['GET', 'GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'get', 'QUERY'];

const routes = [
  '/echo',
  '/echo?a=b&c=%20d',
  '/echo/../echo',
  '/echo#fragment',
  '/echo ü',
  '/status/404',
  '/status/500',
  '/status/204',
  '/status/304',
  '/redirect/301',
  '/redirect/302',
  '/redirect/303',
  '/redirect/307',
  '/redirect/308',
  '/redirect/302?to=/redirect/302',
  '/redirect/302?to=/echo%23fragment',
  '/loop',
  '/nowhere-redirect',
  '/chunks',
  '/gzip',
  '/cookies',
  '/repeated',
  '/empty',
];

const header = ([name, value, valueEnvVar]: readonly (string | null)[]): Params => ({
  name,
  value,
  ...(valueEnvVar !== undefined && { valueEnvVar }),
});

const headers: readonly Params[] = [
  ...['X-Text: text', 'x-text: again', 'Accept: text/plain', 'User-Agent: own', 'Authorization: Bearer x'],
  ...['Content-Type: text/plain', 'Cookie: a=b', 'X-Empty: ', 'X-Home: is : HOME'],
].map((line) => header(line.split(': ')));

const oddHeaders: readonly Params[] = [
  ...['NOT_SET', 'EMPTY', 'openai_api_key', 'AWS_SECRET_ACCESS_KEY', ''].map((variable) => ['X-Key', '', variable]),
  ['X-Null', 'x', null],
  ...['bad name', ''].map((name) => [name, 'x']),
  ...['a\r\nb: c', 'a\0b', 'ü', ' x ', 'a\tb'].map((value) => ['X-Value', value]),
].map(header);

const oddUrls = (upstream: string): readonly string[] => [
  upstream.replace('http:', 'ftp:'),
  upstream.replace('http:', 'ws:'),
  `${upstream}:x/`,
  'http://',
  'http:///',
  '/echo',
  '',
  'file:///etc/passwd',
  'http://127.0.0.1:0/',
  upstream.replace('http:', 'HTTP:'),
  upstream.replace('//', '//user:word@'),
];

export function httpCall(random: RandomSource, { upstream }: Place): readonly [string, Params] {
  return [
    'http/request',
    {
      requestId: `r${random.below(2)}`,
      method: random.usually(methods, ['', 'G T', 'GET\n', 'ü', 'CONNECT', 'x'.repeat(40)]),
      url: random.usually([`${upstream}${random.pick(routes)}`], oddUrls(upstream), 12),
      headers: random.usually(
        [undefined, [], [random.pick(headers)], [random.pick(headers), random.pick(headers)]],
        [[random.pick(oddHeaders)], null],
        6,
      ),
      bodyBase64: random.usually([undefined, undefined, 'aGVsbG8=', '', null], ['YQ', '*']),
      timeoutMs: random.pick([undefined, undefined, 20_000, null]),
      redirectPolicy: random.usually(['follow', 'stop', undefined, null], ['Follow', 'error']),
      streamResponse: random.pick([true, false, undefined, undefined]),
    },
  ];
}
