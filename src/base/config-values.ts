/**
 * Readers for the values of flags: each parses text and says in words what it accepts. Pure, except for those
 * of a file or a folder named by a flag.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import { asError, OrreryError } from './errors.ts';

export interface Reader<T> {
  /** The accepted values, worded to follow "allowed:". */
  readonly allowed: string;
  readonly read: (text: string) => T | undefined;
}

export interface HostPort {
  /** Without brackets, also for IPv6. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export const hostPortText = ({ host, port }: HostPort): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

export const anyText: Reader<string> = {
  allowed: 'text that is not empty',
  read: (text) => text || undefined,
};

/** The length limit keeps subjects far below what NATS accepts. */
export const word: Reader<string> = {
  allowed: 'one word of at most 63 letters, digits, "_" and "-"',
  read: (text) => (/^[A-Za-z0-9_-]{1,63}$/.test(text) ? text : undefined),
};

/** One or more of these words, separated by commas. */
export const listOf = <T extends string>(...words: readonly T[]): Reader<readonly T[]> => ({
  allowed: `a comma list of ${words.join(', ')}`,
  read: (text) => {
    const given = text.split(',').map((part) => part.trim());
    const known = words.filter((one) => given.includes(one));
    return given.every((one) => words.some((known) => known === one)) ? known : undefined;
  },
});

export const replicaName: Reader<string> = {
  allowed: 'at most 253 letters, digits, "_", "-" and "."',
  read: (text) => (/^[A-Za-z0-9_.-]{1,253}$/.test(text) ? text : undefined),
};

/** The prefix of the subjects on which answers arrive, as a NATS user's permissions name it. */
export const inboxPrefix: Reader<string> = {
  allowed: 'at most 128 letters, digits, "_" and "-" in words with dots between, such as _INBOX_person',
  read: (text) => (/^(?=.{1,128}$)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(text) ? text : undefined),
};

/** The name of a Node (RFC 1123 subdomain). */
export const nodeName: Reader<string> = {
  allowed: 'the name of a Node: at most 253 lower-case letters, digits, "-" and "."',
  read: (text) =>
    text.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(text)
      ? text
      : undefined,
};

export const hostPort: Reader<HostPort> = {
  allowed: 'HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8080, [::1]:8080 or :8080',
  read: (text) => {
    const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text);
    if (!match) return undefined;
    const [, bracketed, plain = '', port] = match;
    if (bracketed !== undefined && !isIPv6(bracketed)) return undefined;
    // Four numbers with dots can only be meant as an IPv4 address.
    if (/^[\d.]+$/.test(plain) && !isIPv4(plain)) return undefined;
    return Number(port) > 65_535
      ? undefined
      : { host: bracketed ?? (plain || '0.0.0.0'), port: Number(port) };
  },
};

/** A Kubernetes Service and one of its ports. */
export interface ServicePlace {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export const servicePlace: Reader<ServicePlace> = {
  allowed: 'NAMESPACE/NAME:PORT with a port from 1 to 65535, such as orrery/orrery:8089',
  read: (text) => {
    const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
    const [, namespace, name, port] = new RegExp(`^(${label})/(${label}):(\\d{1,5})$`).exec(text) ?? [];
    if (namespace === undefined || name === undefined) return undefined;
    const value = Number(port);
    return value < 1 || value > 65_535 ? undefined : { namespace, name, port: value };
  },
};

export const nameServer: Reader<HostPort> = {
  allowed: 'IP:PORT with a port from 1 to 65535, such as 127.0.0.1:53 or [::1]:53',
  read: (text) => {
    const value = text.startsWith(':') ? undefined : hostPort.read(text);
    return value !== undefined && isIP(value.host) !== 0 && value.port !== 0 ? value : undefined;
  },
};

const schemes = ['nats:', 'tls:'];

export const urlList: Reader<readonly string[]> = {
  allowed: 'a comma list of nats://HOST:PORT (or tls://HOST:PORT)',
  read: (text) => {
    const urls = text.split(',').map((part) => part.trim());
    return urls.every(isServerUrl)
      ? urls.map((url) => (url.includes('://') ? url : `nats://${url}`))
      : undefined;
  },
};

function isServerUrl(text: string): boolean {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`);
  return url !== null && schemes.includes(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname);
}

/** Names of namespaces (RFC 1123 labels). */
export const namespaceList: Reader<readonly string[]> = {
  allowed: 'a comma list of namespaces: lower-case letters, digits and "-"',
  read: (text) => {
    const names = [...new Set(text.split(',').map((part) => part.trim()))];
    return names.every((name) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) ? names : undefined;
  },
};

/** For each namespace, the namespaces to which it grants something. */
export type NamespaceGrants = Readonly<Record<string, readonly string[]>>;

/** `a=b,c` grants b and c to a; a word that contains "=" starts the next grant. */
export const namespaceGrants: Reader<NamespaceGrants> = {
  allowed: 'NAMESPACE=NAMESPACE[,…]: lower-case letters, digits and "-", such as shop=bank,till=bank',
  read: (text) => {
    const grants: Record<string, string[]> = {};
    let to = '';
    for (const part of text.split(',').map((one) => one.trim())) {
      const [first = '', second, ...more] = part.split('=');
      const name = second ?? first;
      if (second !== undefined) to = first;
      if (more.length > 0 || namespaceList.read(to) === undefined || namespaceList.read(name) === undefined)
        return undefined;
      grants[to] = [...(grants[to] ?? []), name];
    }
    return grants;
  },
};

export function wholeNumber(least: number, most: number): Reader<number> {
  return {
    allowed: `a whole number from ${least} to ${most}`,
    read: (text) => {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : undefined;
    },
  };
}

export function oneOf<const T extends string>(...choices: readonly T[]): Reader<T> {
  return { allowed: choices.join(', '), read: (text) => choices.find((choice) => choice === text) };
}

/** A network in CIDR notation: `10.0.0.0/8`, `fd00::/8`. */
export interface Cidr {
  readonly address: string;
  readonly prefix: number;
}

export const cidrList: Reader<readonly Cidr[]> = {
  allowed: 'a comma list of networks such as 10.0.0.0/8 or fd00::/8',
  read: (text) => {
    const networks = text.split(',').map((one) => readCidr(one.trim()));
    return networks.every((one) => one !== undefined) ? networks : undefined;
  },
};

function readCidr(text: string): Cidr | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6];
  return Number(digits) <= bits ? { address, prefix: Number(digits) } : undefined;
}

/** Whether an address is in one of the networks. An IPv4-mapped IPv6 address counts as the IPv4 address. */
export function inNetworks(networks: readonly Cidr[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefix } of networks) list.addSubnet(address, prefix, familyOf(address));
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether a server that listens on this host is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  if (isIPv4(host)) return loopback.check(host, 'ipv4');
  return isIPv6(host) && loopback.check(host, 'ipv6');
}

/** Reads `90s`, `15m`, `1h`, `2d` (or a bare number of seconds) as milliseconds. */
export const duration: Reader<number> = {
  allowed: 'a time such as 90s, 15m, 1h or 2d',
  read: (text) => {
    const match = /^(\d{1,6})(s|m|h|d)?$/.exec(text);
    if (!match) return undefined;
    const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }[match[2] ?? 's'] ?? 1;
    return Number(match[1]) * seconds * 1000;
  },
};

/** @param name of a flag, an argument or a parameter, as the user writes it */
export function notAllowed(name: string, value: unknown, allowed: string, cause?: unknown): OrreryError {
  const text = `${name}: ${JSON.stringify(value)} is not allowed; allowed: ${allowed}`;
  return new OrreryError('USAGE', text, { cause });
}

/**
 * What somebody who typed `word` may have meant: the closest of `known`, if two letters of it at most (of a
 * short word: one) are wrong, missing, superfluous or swapped.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly text: string; readonly distance: number } | undefined;
  for (const text of new Set(known)) {
    const distance = lettersApart(word.toLowerCase(), text.toLowerCase());
    const isNear = distance <= (Math.min(word.length, text.length) < 5 ? 1 : 2);
    if (isNear && distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { text, distance };
  }
  return best?.text;
}

/** The same as words behind a complaint: ` (is pod meant?)`, or nothing. */
export function meantBy(word: string, known: Iterable<string>): string {
  const near = nearest(word, known);
  return near === undefined ? '' : ` (is ${near} meant?)`;
}

/** Optimal string alignment; 3 or more: too far for us. */
function lettersApart(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const [left = 0, above = 0, corner = 0] = [next[j - 1], row[j], row[j - 1]];
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      next[j] = Math.min(left + 1, above + 1, corner + (isSame ? 0 : 1), swapped);
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** @throws OrreryError USAGE with the name, the value and what is allowed */
export function readAs<T>({ read, allowed }: Reader<T>, name: string, text: string): T {
  const value = read(text);
  if (value === undefined) throw notAllowed(name, text, allowed);
  return value;
}

/**
 * Reads the file that a flag names.
 *
 * @param flag without dashes
 * @throws OrreryError USAGE with the flag and the file
 */
export function readGivenFile(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw notAllowed(`--${flag}`, file, `a file that can be read (${asError(error).message})`, error);
  }
}

/**
 * Makes a folder that somebody named, if it is missing, and proves that something can be put there.
 *
 * @param name of the flag or variable, as people write it
 * @param folder an absolute path
 * @throws OrreryError USAGE with the name and the folder
 */
export function makeGivenFolder(name: string, folder: string): void {
  try {
    makeFolder(folder);
    rmdirSync(mkdtempSync(join(folder, '.orrery-')));
  } catch (thrown) {
    const error: NodeJS.ErrnoException = asError(thrown);
    const why = error.code === 'ENOENT' ? 'the system lets nobody make one here' : error.message;
    throw notAllowed(name, folder, `a folder that can be made and written to (${why})`, error);
  }
}

/**
 * One folder at a time: Node's own `recursive` never returns where the system answers that there is no such
 * file, as it does below /proc.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Somebody else made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}
