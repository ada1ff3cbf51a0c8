/** Free ports, as the kernel gives them. */
import { createServer } from 'node:net';

/** The wanted port if it is free now, or else one that the kernel chooses. */
export async function freePort(host: string, wanted: number): Promise<number> {
  return (await tryPort(host, wanted)) ?? (await tryPort(host, 0)) ?? wanted;
}

function tryPort(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const chosen = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(chosen));
    });
  });
}
