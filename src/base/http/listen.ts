/**
 * Listens on a TCP address, and reads it as programs of Kubernetes do: `0.0.0.0` is every address of the
 * machine, IPv6 included, because a Pod may have no address of the other family.
 */
import type { Server } from 'node:net';
import type { HostPort } from '../config-values.ts';
import { asError } from '../errors.ts';

const anyIPv4 = '0.0.0.0';
/** With sockets that take both families. */
const any = '::';
/** What the system says where IPv6 is switched off. */
const withoutIPv6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * @returns the actual port: 0 asks for any that is free
 * @throws Error of the system if it cannot listen on the address
 */
export async function listenOn(server: Server, { host, port }: HostPort): Promise<number> {
  if (host !== anyIPv4) return listenAt(server, host, port);
  try {
    return await listenAt(server, any, port);
  } catch (thrown) {
    const error: Error & { readonly code?: string } = asError(thrown);
    if (withoutIPv6.includes(error.code)) return listenAt(server, host, port);
    // Nobody has asked for `::`.
    throw new Error(error.message.replace(`${any}:${port}`, `${host}:${port}`), { cause: error });
  }
}

function listenAt(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
