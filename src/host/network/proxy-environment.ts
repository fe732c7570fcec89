const HTTP_VARIABLES = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'http_proxy',
  'https_proxy',
  'WS_PROXY',
  'WSS_PROXY',
  'ws_proxy',
  'wss_proxy',
  'YARN_HTTP_PROXY',
  'YARN_HTTPS_PROXY',
  'NPM_CONFIG_PROXY',
  'NPM_CONFIG_HTTP_PROXY',
  'NPM_CONFIG_HTTPS_PROXY',
  'npm_config_proxy',
  'npm_config_http_proxy',
  'npm_config_https_proxy',
  'BUNDLE_HTTP_PROXY',
  'BUNDLE_HTTPS_PROXY',
  'PIP_PROXY',
  'DOCKER_HTTP_PROXY',
  'DOCKER_HTTPS_PROXY',
];
const SOCKS_VARIABLES = ['ALL_PROXY', 'all_proxy', 'FTP_PROXY', 'ftp_proxy'];
const EXCEPTION_VARIABLES = ['NO_PROXY', 'no_proxy', 'NPM_CONFIG_NOPROXY', 'npm_config_noproxy', 'BUNDLE_NO_PROXY'];

const LOCAL_DESTINATIONS = 'localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';

export interface ProxyPorts {
  readonly http: number;
  readonly socks: number | undefined;
}

/** The variables by which a program finds the proxies. */
export function proxyEnvironment(ports: ProxyPorts, allowLocalBinding: boolean): Record<string, string> {
  const http = `http://127.0.0.1:${ports.http}`;
  const socks = ports.socks === undefined ? http : `socks5h://127.0.0.1:${ports.socks}`;
  const all = (names: readonly string[], value: string) => Object.fromEntries(names.map((name) => [name, value]));
  return {
    ...all(HTTP_VARIABLES, http),
    ...all(SOCKS_VARIABLES, socks),
    ...all(EXCEPTION_VARIABLES, allowLocalBinding ? LOCAL_DESTINATIONS : ''),
    CODEX_NETWORK_PROXY_ACTIVE: '1',
    CODEX_NETWORK_ALLOW_LOCAL_BINDING: allowLocalBinding ? '1' : '0',
    ELECTRON_GET_USE_PROXY: 'true',
    NODE_USE_ENV_PROXY: '1',
  };
}
