/**
 * A program that runs outside the cluster: an HTTP server that answers everything with its name.
 *
 * Run: node virtual-machine.ts NAME HOST PORT. Ends on SIGTERM, or with the process that started it
 * (tether.ts).
 */
import { createServer } from 'node:http';

const [name = 'vm', host = '127.0.0.1', port = '0'] = process.argv.slice(2);
const server = createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'text/plain' }).end(`${name}\n`),
);
server.listen(Number(port), host);
process.on('SIGTERM', () => process.exit(0));
