/** A Service as a prober sees it: one address behind which backends answer in turn, each in its own way. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Backend = (request: IncomingMessage, response: ServerResponse) => void;

export interface FakeService {
  readonly url: string;
  /** Answer in turn, for ever. */
  backends: Backend[];
  readonly requests: IncomingMessage[];
  /** Connections that are open now, and that ever were. */
  readonly open: number;
  readonly connections: number;
  close(): Promise<void>;
}

export async function startService(...backends: Backend[]): Promise<FakeService> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<unknown>();
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    const turn = service.backends[(requests.length - 1) % service.backends.length];
    turn?.(request, response);
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service: FakeService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`,
    backends,
    requests,
    get open() {
      return sockets.size;
    },
    get connections() {
      return connections;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return service;
}

/** A Pod that names itself. */
export const pod =
  (ip: string, status = 200): Backend =>
  (_, response) => {
    response.writeHead(status, { [ip.includes(':') ? 'Pod-IPv6' : 'Pod-IPv4']: ip }).end('ok\n');
  };
export const anonymous: Backend = (_, response) => void response.writeHead(200).end('ok\n');
export const reset: Backend = (_, response) => void response.socket?.resetAndDestroy();
export const silent: Backend = () => {};
