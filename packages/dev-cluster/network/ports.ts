/**
 * Free ports. One is closed again before its user opens it, so it comes from below the range out of which the
 * kernel gives ports to connections: there nobody is given it meanwhile.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Linux gives connections ports from 32,768 on, macOS later; NodePorts begin at 30,000. */
const range = { first: 11_000, end: 30_000 };
const triesMax = 50;

/** The wanted port if it can be listened on now, else another one; 0: any. */
export async function freePort(host: string, wanted: number): Promise<number> {
  if (wanted !== 0 && (await isFree(host, wanted))) return wanted;
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(range.first, range.end);
    if (await isFree(host, port)) return port;
  }
  return wanted;
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
