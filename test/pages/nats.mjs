/**
 * What the pages use of the command `nats`, which is in no Debian suite: `req --raw` and `pub`, word for word
 * as the real one takes them.
 */
import { connect } from 'nats';

const [verb, ...rest] = process.argv.slice(2);
const [subject, body = ''] = rest.filter((word) => word !== '--raw');
if ((verb !== 'req' && verb !== 'pub') || subject === undefined) {
  process.stderr.write(`nats ${process.argv.slice(2).join(' ')}: only req and pub are here\n`);
  process.exit(2);
}
const connection = await connect({ servers: process.env.DESK_NATS ?? [] });
if (verb === 'pub') {
  connection.publish(subject, body);
  process.stdout.write(`Published ${Buffer.byteLength(body)} bytes to "${subject}"\n`);
} else {
  const answer = await connection.request(subject, body, { timeout: 5_000 });
  const said = answer.string();
  process.stdout.write(`${said}\n`);
  // A person reads that it was refused, as while its shard moves, and sends it again.
  const refusal = answer.headers?.get('Nats-Service-Error') ?? '';
  if (refusal !== '') process.stderr.write(`${refusal}\n`);
  if (refusal !== '' || said.includes('"accepted":false')) process.exitCode = 1;
}
await connection.drain();
