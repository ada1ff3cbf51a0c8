/**
 * One call through a Service: who answers?
 *
 * A GET over a new connection, so that whatever balances the Service chooses again. Promises: the whole call,
 * including name resolution and the answer, ends within the time limit. Redirects are not followed. At most
 * `limits.probeAnswerBytes` of the head and as much of the body are read. Only the URL's own address is
 * called. An answer counts as soon as its head has arrived.
 */
import { get, type IncomingMessage } from 'node:http';
import { connect, type LookupFunction, type NetConnectOpts } from 'node:net';
import type { Address, IpFamily } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import { connectionFault } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

export interface ProbeTarget {
  readonly url: string;
  /** The name is resolved in this family only; absent: in any. */
  readonly family?: IpFamily;
  /** Response header that holds the answering Pod's address, for each family. */
  readonly podIPHeaders: Readonly<Record<IpFamily, string>>;
  readonly timeoutMs: number;
}

export type ProbeAnswer =
  /** The header was present. `unreadable`: values that are not an address of their header's family. */
  | {
      readonly kind: 'named';
      readonly status: number;
      readonly addresses: readonly Address[];
      readonly unreadable: readonly string[];
    }
  /** An answer without the header, or with an empty one. */
  | { readonly kind: 'anonymous'; readonly status: number }
  | { readonly kind: 'unreachable'; readonly error: string };

export interface ProbeParts {
  readonly clock: Clock;
  /** base/address.ts */
  readonly parseAddress: (text: string) => Address | undefined;
  /** Resolves the names of Services; by default the system's resolver. */
  readonly lookup?: LookupFunction;
}

/** Long enough to recognize a strange header value. */
const valueCharsMax = 64;

/**
 * @param onAnswer called once, as soon as the answer is known; not called if the call is aborted before that
 * @returns when the connection is closed
 */
export function probeCall(
  target: ProbeTarget,
  { clock, parseAddress, lookup }: ProbeParts,
  signal: AbortSignal,
  onAnswer: (answer: ProbeAnswer) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let isAnswered = signal.aborted;
    const answer = (known: ProbeAnswer) => {
      if (isAnswered) return;
      isAnswered = true;
      onAnswer(known);
    };
    const request = get(target.url, {
      // An agent for one call costs a quarter of it.
      createConnection: (options) => connect(options as NetConnectOpts),
      maxHeaderSize: limits.probeAnswerBytes,
      headers: { accept: '*/*', 'user-agent': 'orrery-probe', connection: 'close' },
      // A name may have addresses of both families; only the one asked for proves anything.
      ...(target.family === undefined ? {} : { family: target.family === 'IPv6' ? 6 : 4 }),
      ...(lookup === undefined ? {} : { lookup }),
    });
    const timer = clock.after(target.timeoutMs, () => {
      answer({ kind: 'unreachable', error: `no answer within ${target.timeoutMs} ms` });
      request.destroy();
    });
    const onAbort = () => {
      isAnswered = true;
      request.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('response', (response) => {
      answer(classify(response, target, parseAddress));
      drain(response);
    });
    request.on('error', (thrown) => answer({ kind: 'unreachable', error: connectionFault(thrown) }));
    request.on('close', () => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      answer({ kind: 'unreachable', error: 'the connection was closed' });
      resolve();
    });
    if (signal.aborted) onAbort();
  });
}

function classify(
  { headers, statusCode: status = 0 }: IncomingMessage,
  { podIPHeaders }: ProbeTarget,
  parseAddress: ProbeParts['parseAddress'],
): ProbeAnswer {
  const addresses: Address[] = [];
  const unreadable: string[] = [];
  for (const family of ['IPv4', 'IPv6'] as const) {
    const value = headers[podIPHeaders[family].toLowerCase()]?.toString().trim() ?? '';
    if (value === '') continue;
    const address = parseAddress(value);
    if (address?.family === family) addresses.push(address);
    else unreadable.push(value.slice(0, valueCharsMax));
  }
  const isAnonymous = addresses.length === 0 && unreadable.length === 0;
  return isAnonymous ? { kind: 'anonymous', status } : { kind: 'named', status, addresses, unreadable };
}

/** Reads a little of the body, so that an ordinary answer ends normally for its sender. */
function drain(response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > limits.probeAnswerBytes) response.destroy();
  });
  response.on('error', () => {});
}
