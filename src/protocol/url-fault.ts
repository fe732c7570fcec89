/** Schemes whose URLs always have a host. */
const SPECIAL = /^(?:https?|wss?|ftp)$/i;

const LAST_LABEL_IS_A_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i;

/** Names of ignored characters only, such as soft hyphens. */
const ONLY_IGNORED = /^(?:[\u00ad\u200b\u2060\ufeff]|%c2%ad)+$/i;

/** Why a text is not a URL, in the reference's words; Node gives one message for all faults. */
export function urlFault(text: string): string {
  const [scheme, rest] = schemeOf(text.replaceAll(/[\t\r\n]/g, '').trim());
  if (scheme === undefined) return 'relative URL without a base';
  if (/^file$/i.test(scheme)) return fileFault(rest);
  const isSpecial = SPECIAL.test(scheme);
  const authority = isSpecial ? /^[/\\]*([^/\\?#]*)/.exec(rest) : /^\/\/([^/?#]*)/.exec(rest);
  const host = (authority?.[1] ?? '').replace(/^.*@/, '');
  if (host.startsWith('[')) return isHost(host.replace(/\]:.*$/, ']')) ? 'invalid port number' : 'invalid IPv6 address';
  const name = host.replace(/:.*$/, '');
  if (name === '') return 'empty host';
  if (isHost(name)) return 'invalid port number';
  if (!isSpecial) return 'invalid domain character';
  return LAST_LABEL_IS_A_NUMBER.test(name) ? 'invalid IPv4 address' : 'invalid international domain name';
}

function fileFault(rest: string): string {
  const host = /^[/\\]{2}([^/\\?#]*)/.exec(rest)?.[1] ?? '';
  if (ONLY_IGNORED.test(host)) return 'empty host';
  return LAST_LABEL_IS_A_NUMBER.test(host) ? 'invalid IPv4 address' : 'invalid international domain name';
}

function schemeOf(text: string): [scheme: string | undefined, rest: string] {
  const [whole, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(text) ?? [''];
  return [scheme, text.slice(whole.length)];
}

const isHost = (host: string): boolean => URL.canParse(`http://${host}/`);
