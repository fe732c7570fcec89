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

const headers: readonly Params[] = [
  { name: 'X-Text', value: 'text' },
  { name: 'x-text', value: 'again' },
  { name: 'Accept', value: 'text/plain' },
  { name: 'User-Agent', value: 'own' },
  { name: 'Authorization', value: 'Bearer x' },
  { name: 'Content-Type', value: 'text/plain' },
  { name: 'Cookie', value: 'a=b' },
  { name: 'X-Empty', value: '' },
  { name: 'X-Home', value: 'is ', valueEnvVar: 'HOME' },
];

const oddHeaders: readonly Params[] = [
  { name: 'X-None', value: '', valueEnvVar: 'NOT_SET' },
  { name: 'X-Empty', value: '', valueEnvVar: 'EMPTY' },
  { name: 'X-Key', value: '', valueEnvVar: 'openai_api_key' },
  { name: 'X-Key', value: '', valueEnvVar: 'AWS_SECRET_ACCESS_KEY' },
  { name: 'X-Name', value: '', valueEnvVar: '' },
  { name: 'X-Null', value: 'x', valueEnvVar: null },
  { name: 'bad name', value: 'x' },
  { name: '', value: 'x' },
  { name: 'X-Line', value: 'a\r\nb: c' },
  { name: 'X-Nul', value: 'a\0b' },
  { name: 'X-Latin', value: 'ü' },
  { name: 'X-Space', value: ' x ' },
  { name: 'X-Tab', value: 'a\tb' },
];

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
