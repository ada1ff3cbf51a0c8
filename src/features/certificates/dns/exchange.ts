/**
 * One query to a name server and its answer: over UDP, and over TCP if the answer does not fit.
 *
 * Owns the sockets, one for each exchange. Promises: only an answer from the queried server with the query's
 * id counts; the exchange ends with the signal, or after a few attempts.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { connect, isIPv6 } from 'node:net';
import { type HostPort, hostPort } from '../../../base/config-values.ts';
import { connectionFault, OrreryError } from '../../../base/errors.ts';
import { type DnsMessage, readMessage } from './message.ts';

/** Timeout of each attempt, ms, as resolvers use. */
const attemptMs = [2_000, 3_000, 5_000] as const;
const tcpMs = 10_000;

export interface Answered {
  readonly message: DnsMessage;
  readonly bytes: Uint8Array;
}

/**
 * @param server `host:port`
 * @throws OrreryError ACME_REFUSED: a refusal of the challenge, never counted against the authority
 */
export async function exchange(server: string, question: Uint8Array, signal: AbortSignal): Promise<Answered> {
  const place = hostPort.read(server);
  if (place === undefined) throw unreachable(server, 'it is no host:port');
  try {
    const { address } = await lookup(place.host);
    const at = { host: address, port: place.port };
    const answer = await overUdp(at, question, signal);
    return answer.message.isTruncated === true ? await overTcp(at, question, signal) : answer;
  } catch (thrown) {
    signal.throwIfAborted();
    throw unreachable(server, connectionFault(thrown));
  }
}

const unreachable = (server: string, why: string) =>
  new OrreryError('ACME_REFUSED', `name server ${server} cannot be queried: ${why}`);

/** Whether the answer matches the query; an update's answer need not repeat its zone (RFC 2136 3.8). */
function answerTo(question: Uint8Array, bytes: Uint8Array): Answered | null {
  const message = readMessage(bytes);
  const id = Buffer.from(question).readUInt16BE(0);
  return message?.isAnswer === true && message.id === id ? { message, bytes } : null;
}

async function overUdp(at: HostPort, question: Uint8Array, signal: AbortSignal): Promise<Answered> {
  for (const ms of attemptMs) {
    // Perhaps while the address was looked up: who is told only of what comes would wait for ever.
    signal.throwIfAborted();
    const answer = await datagram(at, question, AbortSignal.any([signal, AbortSignal.timeout(ms)]), signal);
    if (answer !== null) return answer;
  }
  throw new Error('no answer in time');
}

/** null: no answer in time. */
function datagram(
  { host, port }: HostPort,
  question: Uint8Array,
  patience: AbortSignal,
  signal: AbortSignal,
): Promise<Answered | null> {
  const socket: UdpSocket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  return new Promise<Answered | null>((resolve, reject) => {
    patience.addEventListener('abort', () => (signal.aborted ? reject(signal.reason) : resolve(null)));
    socket.on('error', reject);
    socket.on('message', (bytes) => {
      const answer = answerTo(question, bytes);
      if (answer !== null) resolve(answer);
    });
    // A connected socket receives only from this server.
    socket.connect(port, host, () => socket.send(question));
  }).finally(() => socket.close());
}

function overTcp({ host, port }: HostPort, question: Uint8Array, signal: AbortSignal): Promise<Answered> {
  const socket = connect({ host, port, signal });
  socket.setTimeout(tcpMs, () => socket.destroy(new Error('no answer in time')));
  return new Promise<Answered>((resolve, reject) => {
    let seen = Buffer.alloc(0);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the connection ended without an answer')));
    socket.on('data', (piece) => {
      seen = Buffer.concat([seen, piece]);
      const length = seen.byteLength < 2 ? Number.POSITIVE_INFINITY : seen.readUInt16BE(0);
      if (seen.byteLength < length + 2) return;
      const answer = answerTo(question, seen.subarray(2, length + 2));
      if (answer === null) reject(new Error('it answers something else'));
      else resolve(answer);
    });
    const framed = Buffer.alloc(2);
    framed.writeUInt16BE(question.byteLength);
    socket.write(Buffer.concat([framed, question]));
  }).finally(() => socket.destroy());
}
