/**
 * The process inside a Pod, as far as it shows outside: an HTTP server on the Pod's own address.
 *
 * Every container port answers: `/healthz` with the header `Pod-IPv4` (or `Pod-IPv6`) that names the
 * advertised address, as Tailscale's proxies do; every other path with the Pod's name. Promises: after
 * `close` nothing listens, and whoever was connected before has been answered. Absent: TLS, UDP, anything
 * that a container would really run.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import type { HealthAnswer } from './behaviour.ts';

/** As many as Node lets wait for each server. */
const backlog = 511;

export interface BackendOptions {
  readonly podName: string;
  /** The address by which others know the Pod; the header's value. */
  readonly advertisedIp: string;
  /** Where the sockets are. */
  readonly host: string;
  readonly ports: readonly number[];
  readonly health: HealthAnswer;
}

export interface Backend {
  setHealth(health: HealthAnswer): void;
  /** Answers those that are connected by now, then accepts no new connections. */
  close(): Promise<void>;
  /** Ends every connection at once. */
  kill(): Promise<void>;
}

/** @throws the socket error if a port cannot be had; then none is held */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  let health = options.health;
  let isClosing = false;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (isClosing) response.shouldKeepAlive = false;
    if (request.url?.split('?')[0] === '/healthz') answerHealth(response, health, options.advertisedIp);
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(`${options.podName}\n`);
  };
  const servers: Server[] = [];
  let accepted = 0;
  const count = () => {
    accepted += 1;
  };
  const closeAll = () => {
    isClosing = true;
    return Promise.all(servers.map(closed));
  };
  try {
    for (const port of new Set(options.ports)) servers.push(await listen(answer, options.host, port));
    for (const server of servers) server.on('connection', count);
  } catch (thrown) {
    await closeAll();
    throw thrown;
  }
  return {
    setHealth: (wanted) => {
      health = wanted;
    },
    close: async () => {
      isClosing = true;
      await noneWaits(() => accepted);
      const done = closeAll();
      for (const server of servers) server.closeIdleConnections();
      await done;
    },
    kill: async () => {
      const done = closeAll();
      for (const server of servers) server.closeAllConnections();
      await done;
    },
  };
}

/**
 * Resolves once no connection waits to be accepted. Node accepts one for each server in a turn of its loop; a
 * process that is behind has many waiting, and closing would reset them all.
 */
async function noneWaits(accepted: () => number): Promise<void> {
  for (let before = -1, turns = 0; before !== accepted() && turns < backlog; turns += 1) {
    before = accepted();
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

function answerHealth(response: ServerResponse, health: HealthAnswer, ip: string): void {
  const header = { [isIPv6(ip) ? 'Pod-IPv6' : 'Pod-IPv4']: ip };
  if (health === 'ok') response.writeHead(200, header).end('ok\n');
  else if (health === 'unhealthy') response.writeHead(503, header).end('unhealthy\n');
  else if (health === 'no-header') response.writeHead(200).end('ok\n');
  else if (health === 'reset') response.socket?.resetAndDestroy();
  else if (health === 'absent') response.writeHead(404).end('no health endpoint\n');
  // silent: the caller waits until it gives up
}

function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  host: string,
  port: number,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(answer);
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
