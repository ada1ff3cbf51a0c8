/**
 * Addresses of the development cluster: what a Pod is called by, and where its socket really is.
 *
 * Linux answers on all of 127.0.0.0/8, so every Pod and every Service gets an address of its own without any
 * set-up. But a real API server refuses loopback addresses in EndpointSlices. Pods may therefore be
 * advertised in another range (10.80.0.0/16), and one rule leads to the socket: the last three bytes stay,
 * the first becomes 127. Advertised addresses that are already loopback are their own sockets. Cluster IPs
 * are what clients dial; they must be loopback themselves.
 */
import { createServer, type Server } from 'node:net';
import { OrreryError } from '../../src/base/errors.ts';

/** An IPv4 network of whole bytes: `10.80.0.0/16`. */
export interface Network {
  readonly cidr: string;
  contains(ip: string): boolean;
  /** The n-th address; 0 is the network's own. */
  at(index: number): string;
  readonly size: number;
}

/** @throws OrreryError USAGE unless the text is an IPv4 network with a prefix of 8 to 30 bits */
export function parseNetwork(cidr: string): Network {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  const [a = 256, b = 256, c = 256, d = 256, prefix = 0] = (match ?? []).slice(1).map(Number);
  if ([a, b, c, d].some((byte) => byte > 255) || prefix < 8 || prefix > 30)
    throw new OrreryError(
      'USAGE',
      `"${cidr}" is no IPv4 network with a prefix from 8 to 30, as 127.80.0.0/16`,
    );
  const size = 2 ** (32 - prefix);
  const base = Math.floor((((a * 256 + b) * 256 + c) * 256 + d) / size) * size;
  return {
    cidr,
    size,
    contains: (ip) => Math.floor(toNumber(ip) / size) * size === base,
    at: (index) => toText(base + index),
  };
}

/** Where the socket of an advertised address is. */
export function socketAddress(ip: string): string {
  return ip.replace(/^\d+\./, '127.');
}

export function isLoopback(ip: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(ip);
}

export interface AddressPool {
  /** A free address. One that was given back comes last, so that no Pod is mistaken for its predecessor. */
  take(): string;
  /** Marks an address as taken; false if it belongs to another network or is taken already. */
  adopt(ip: string): boolean;
  giveBack(ip: string): void;
}

export function createAddressPool(network: Network): AddressPool {
  const taken = new Set<string>();
  // Address 0 is the network, 1 holds the range (claimRange), the last one is broadcast.
  const usable = network.size - 3;
  let next = 0;
  return {
    take() {
      for (let tried = 0; tried < usable; tried += 1) {
        const ip = network.at(2 + (next % usable));
        next += 1;
        if (taken.has(ip)) continue;
        taken.add(ip);
        return ip;
      }
      throw new OrreryError('KUBE_REFUSED', `no address left in ${network.cidr}`);
    },
    adopt(ip) {
      if (!network.contains(ip) || taken.has(ip)) return false;
      taken.add(ip);
      return true;
    },
    giveBack: (ip) => void taken.delete(ip),
  };
}

export interface AddressRange {
  /** Sockets of Pods. */
  readonly podCidr: string;
  readonly serviceCidr: string;
  release(): Promise<void>;
}

/** Ranges that can be used side by side on one machine: Pods 127.80 … 127.95, Services 127.96 … 127.111. */
const rangeCount = 16;
const rangePort = 7071;

/**
 * Reserves a pair of networks for one development cluster on this machine, by a socket on the first address
 * of the Pods' network. The kernel releases it when the process ends.
 *
 * @throws OrreryError USAGE when all are in use
 */
export async function claimRange(): Promise<AddressRange> {
  for (let index = 0; index < rangeCount; index += 1) {
    const holder = await holdSocket(`127.${80 + index}.0.1`, rangePort);
    if (holder === null) continue;
    return {
      podCidr: `127.${80 + index}.0.0/16`,
      serviceCidr: `127.${96 + index}.0.0/16`,
      release: () => new Promise((resolve) => holder.close(() => resolve())),
    };
  }
  throw new OrreryError('USAGE', `${rangeCount} development clusters run on this machine already`);
}

function holdSocket(host: string, port: number): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error.code === 'EADDRNOTAVAIL' ? onlyOneAddress(host) : error);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Linux answers on all of 127.0.0.0/8; others, among them macOS, only on 127.0.0.1. */
function onlyOneAddress(host: string): OrreryError {
  return new OrreryError(
    'USAGE',
    `this machine does not answer on ${host}: the development cluster gives each Pod a loopback address of its own, which Linux has without any set-up; run it in a Linux container or virtual machine`,
  );
}

function toNumber(ip: string): number {
  const bytes = ip.split('.').map(Number);
  if (bytes.length !== 4 || bytes.some((byte) => !(byte >= 0 && byte <= 255))) return Number.NaN;
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}
