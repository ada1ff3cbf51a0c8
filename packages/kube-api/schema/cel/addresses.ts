/** URLs, IP addresses and networks in expressions. */
import { BlockList, isIP, SocketAddress } from 'node:net';
import type { CelFunction } from './functions.ts';

class Url {
  parts = new URL('http://localhost');
}

class Ip {
  text = '';
  family = 4;
}

class Cidr {
  ip = new Ip();
  bits = 0;
}

export const addressTypes = [
  { name: 'kubernetes.URL', ctor: Url },
  { name: 'net.IP', ctor: Ip },
  { name: 'net.CIDR', ctor: Cidr },
];

export const addressFunctions: readonly CelFunction[] = [
  ['url(string): kubernetes.URL', (text: string) => urlOf(text)],
  ['isURL(string): bool', (text: string) => URL.canParse(text)],
  ['kubernetes.URL.getScheme(): string', ({ parts }: Url) => parts.protocol.slice(0, -1)],
  ['kubernetes.URL.getHost(): string', ({ parts }: Url) => parts.host],
  ['kubernetes.URL.getHostname(): string', ({ parts }: Url) => parts.hostname.replace(/^\[|\]$/g, '')],
  ['kubernetes.URL.getPort(): string', ({ parts }: Url) => parts.port],
  ['kubernetes.URL.getEscapedPath(): string', ({ parts }: Url) => parts.pathname],
  ['kubernetes.URL.getQuery(): map<string, list<string>>', ({ parts }: Url) => queryOf(parts.searchParams)],
  ['ip(string): net.IP', (text: string) => ipOf(text)],
  ['isIP(string): bool', (text: string) => isIP(text) !== 0],
  ['net.IP.family(): int', ({ family }: Ip) => BigInt(family)],
  ['net.IP.isUnspecified(): bool', (ip: Ip) => isIn(ip, '0.0.0.0/32', '::/128')],
  ['net.IP.isLoopback(): bool', (ip: Ip) => isIn(ip, '127.0.0.0/8', '::1/128')],
  ['net.IP.isLinkLocalMulticast(): bool', (ip: Ip) => isIn(ip, '224.0.0.0/24', 'ff02::/16')],
  ['net.IP.isLinkLocalUnicast(): bool', (ip: Ip) => isIn(ip, '169.254.0.0/16', 'fe80::/10')],
  ['string(net.IP): string', (ip: Ip) => canonical(ip)],
  ['cidr(string): net.CIDR', (text: string) => cidrOf(text)],
  ['isCIDR(string): bool', (text: string) => parsedCidr(text) !== undefined],
  ['net.CIDR.ip(): net.IP', ({ ip }: Cidr) => ip],
  ['net.CIDR.prefixLength(): int', ({ bits }: Cidr) => BigInt(bits)],
  ['net.CIDR.containsIP(net.IP): bool', (network: Cidr, ip: Ip) => contains(network, ip)],
  ['net.CIDR.containsIP(string): bool', (network: Cidr, text: string) => contains(network, ipOf(text))],
  ['net.CIDR.containsCIDR(net.CIDR): bool', (network: Cidr, other: Cidr) => covers(network, other)],
  ['net.CIDR.containsCIDR(string): bool', (network: Cidr, text: string) => covers(network, cidrOf(text))],
];

function urlOf(text: string): Url {
  if (!URL.canParse(text))
    throw new Error(`URL parse error during conversion from string: parse ${JSON.stringify(text)}`);
  return Object.assign(new Url(), { parts: new URL(text) });
}

function queryOf(query: URLSearchParams): Map<string, string[]> {
  return new Map([...new Set(query.keys())].map((key) => [key, query.getAll(key)]));
}

function ipOf(text: string): Ip {
  const family = isIP(text);
  if (family === 0)
    throw new Error(`IP Address ${JSON.stringify(text)} parse error during conversion from string`);
  return Object.assign(new Ip(), { text, family });
}

function canonical({ text, family }: Ip): string {
  return new SocketAddress({ address: text, family: family === 4 ? 'ipv4' : 'ipv6' }).address;
}

function parsedCidr(text: string): Cidr | undefined {
  const [address = '', bits = '', more] = text.split('/');
  const family = isIP(address);
  const isWide = Number(bits) > (family === 4 ? 32 : 128);
  if (family === 0 || !/^\d+$/.test(bits) || isWide || more !== undefined) return undefined;
  return Object.assign(new Cidr(), { ip: ipOf(address), bits: Number(bits) });
}

function cidrOf(text: string): Cidr {
  const network = parsedCidr(text);
  if (network === undefined)
    throw new Error(`network address parse error during conversion from string: ${text}`);
  return network;
}

function contains({ ip, bits }: Cidr, other: Ip): boolean {
  if (ip.family !== other.family) return false;
  const type = ip.family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(ip.text, bits, type);
  return list.check(other.text, type);
}

function covers(network: Cidr, other: Cidr): boolean {
  return other.bits >= network.bits && contains(network, other.ip);
}

function isIn(ip: Ip, ...networks: readonly string[]): boolean {
  return networks.some((network) => contains(cidrOf(network), ip));
}
