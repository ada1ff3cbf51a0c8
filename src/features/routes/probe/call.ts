/**
 * One call through a Service: who answers?
 *
 * A GET over a new connection, so that whatever balances the Service chooses again. Promises: the whole call,
 * including name resolution and the answer, ends within the time limit. Redirects are not followed. At most
 * `limits.probeAnswerBytes` of the head and as much of the body are read. Only the URL's own address is
 * called. An answer counts as soon as its head has arrived.
 *
 * Without Node's HTTP client, which takes twice the processor time: a thousand Pods take 85,000 calls.
 */
import { connect, type LookupFunction, type Socket } from 'node:net';
import type { Address, IpFamily } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import { connectionFault } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { type AnswerHead, isBodyWhole, readHead } from './answer-head.ts';

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
    if (signal.aborted) return resolve();
    const socket = ask(target, lookup);
    const timer = clock.after(target.timeoutMs, () => {
      answer({ kind: 'unreachable', error: `no answer within ${target.timeoutMs} ms` });
      socket.destroy();
    });
    const onAbort = () => {
      isAnswered = true;
      socket.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    readAnswer(socket, {
      onHead: (head) => answer(classify(head, target, parseAddress)),
      onFault: (error) => answer({ kind: 'unreachable', error }),
    });
    socket.on('error', (thrown) => answer({ kind: 'unreachable', error: connectionFault(thrown) }));
    socket.on('close', () => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      answer({ kind: 'unreachable', error: 'the connection was closed' });
      resolve();
    });
  });
}

function ask({ url, family }: ProbeTarget, lookup?: LookupFunction): Socket {
  const { host, hostname, port, pathname, search } = new URL(url);
  const socket = connect({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 80),
    // A name may have addresses of both families; only the one asked for proves anything.
    ...(family === undefined ? {} : { family: family === 'IPv6' ? 6 : 4 }),
    ...(lookup === undefined ? {} : { lookup }),
  });
  const headers = `Host: ${host}\r\nAccept: */*\r\nUser-Agent: orrery-probe\r\nConnection: close\r\n`;
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${headers}\r\n`, 'latin1');
  return socket;
}

/** Reads the head, and a little of the body, so that an ordinary answer ends normally for its sender. */
function readAnswer(
  socket: Socket,
  {
    onHead,
    onFault,
  }: { readonly onHead: (head: AnswerHead) => void; readonly onFault: (error: string) => void },
): void {
  const most = limits.probeAnswerBytes;
  let text = '';
  let head: AnswerHead | null = null;
  const give = (error: string) => {
    onFault(error);
    socket.destroy();
  };
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
    if (head === null) {
      const read = readHead(text);
      if (read === 'malformed') return give('the answer is not HTTP');
      if (read === 'unfinished' ? text.length > most : read.bodyAt > most)
        return give(`the head of the answer is longer than ${most} bytes`);
      if (read === 'unfinished') return;
      head = read;
      onHead(head);
    }
    if (text.length - head.bodyAt > most) socket.destroy();
    else if (isBodyWhole(head, text)) socket.destroySoon();
  });
}

function classify(
  { headers, status }: AnswerHead,
  { podIPHeaders }: ProbeTarget,
  parseAddress: ProbeParts['parseAddress'],
): ProbeAnswer {
  const addresses: Address[] = [];
  const unreadable: string[] = [];
  for (const family of ['IPv4', 'IPv6'] as const) {
    const value = headers.get(podIPHeaders[family].toLowerCase()) ?? '';
    if (value === '') continue;
    const address = parseAddress(value);
    if (address?.family === family) addresses.push(address);
    else unreadable.push(value.slice(0, valueCharsMax));
  }
  const isAnonymous = addresses.length === 0 && unreadable.length === 0;
  return isAnonymous ? { kind: 'anonymous', status } : { kind: 'named', status, addresses, unreadable };
}
