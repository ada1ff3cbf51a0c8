/**
 * The development cluster's network to machines outside it, as far as one process needs it. Loaded before a
 * program (`node --import`), it leads connections to addresses of `ORRERY_DEV_OUTSIDE` (an IPv4 network) to
 * their sockets (socket-addresses.ts).
 *
 * A machine outside the cluster must not have a loopback address: API servers and Orrery refuse those in
 * slices. Without the variable nothing changes.
 */
import { Socket } from 'node:net';
import { parseNetwork, socketAddress } from '../../kube-api/socket-addresses.ts';

/** Tells the processes of the cluster about the network. */
export const outsideVariable = 'ORRERY_DEV_OUTSIDE';

const cidr = process.env[outsideVariable];
if (cidr !== undefined) redirect(cidr);

function redirect(network: string): void {
  const outside = parseNetwork(network);
  const patched = function (this: Socket, ...args: unknown[]): Socket {
    // Node's own callers pass options and callback as one list.
    const [first] = args;
    const options: unknown = Array.isArray(first) ? first[0] : first;
    if (isTarget(options) && outside.contains(options.host)) options.host = socketAddress(options.host);
    return Reflect.apply(connect, this, args) as Socket;
  };
  const connect: (...args: never[]) => Socket = Socket.prototype.connect;
  Socket.prototype.connect = patched as typeof Socket.prototype.connect;
}

function isTarget(options: unknown): options is { host: string } {
  const host = (options as { host?: unknown } | null | undefined)?.host;
  return typeof host === 'string' && /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
