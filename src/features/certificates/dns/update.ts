/**
 * Publishes and removes a TXT record by dynamic update (RFC 2136), signed with TSIG.
 *
 * Both are idempotent: adding an existing record, or deleting a missing one, changes nothing. Other records
 * of the same name stay: a host and its wildcard are proven under one name.
 */
import type { Clock } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import type { Random } from '../../../base/random.ts';
import { exchange } from './exchange.ts';
import { classes, type DnsMessage, type DnsRecord, opcodes, recordTypes, textData } from './message.ts';
import { whyHidden } from './names.ts';
import { signatureFault, signed, type TsigKey } from './tsig.ts';

export interface TextUpdate {
  /** `host:port` */
  readonly server: string;
  readonly zone: string;
  readonly fqdn: string;
  readonly value: string;
  readonly action: 'add' | 'delete';
}

/** Short, so that a resolver that looked too early does not cache the absence for long; seconds. */
const ttlSeconds = 60;

/**
 * @throws OrreryError ACME_REFUSED if the server refuses, its answer is not signed with the key, or others
 *   will not see the record that it took
 */
export async function updateText(
  update: TextUpdate,
  key: TsigKey,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  const { server } = update;
  const { bytes, mac } = signed(updateMessage(update, Math.floor(random.next() * 0x10000)), key, clock.now());
  const answer = await exchange(server, bytes, signal);
  const fault = signatureFault(answer.bytes, answer.message, key, { mac, now: clock.now() });
  const { code } = answer.message;
  const refused = (why: string) =>
    new OrreryError('ACME_REFUSED', `name server ${server}, update of ${update.fqdn}: ${why}`);
  if (fault !== null && code === 0) throw refused(fault);
  if (code !== 0) {
    const said = words[code] ?? `code ${code}`;
    throw refused(fault === null || fault === unsignedText ? said : `${said}; ${fault}`);
  }
  const hidden = update.action === 'add' ? await whyHidden(update, random, signal) : null;
  if (hidden !== null) throw refused(hidden);
}

const unsignedText = 'the answer is not signed';

/** RFC 2136 2.2 and RFC 8945. */
const words: Readonly<Record<number, string>> = {
  1: 'it does not understand the update (FORMERR)',
  2: 'it failed (SERVFAIL)',
  4: 'it takes no updates (NOTIMP)',
  5: 'it does not allow the update (REFUSED)',
  9: 'it is not responsible for the zone, or does not accept the key (NOTAUTH)',
  10: 'the name is not in the zone (NOTZONE)',
};

export function updateMessage({ zone, fqdn, value, action }: TextUpdate, id: number): DnsMessage {
  const change: DnsRecord = {
    name: fqdn,
    type: recordTypes.txt,
    // Deletes a single record of several: RFC 2136 2.5.4.
    class: action === 'add' ? classes.internet : classes.none,
    ttl: action === 'add' ? ttlSeconds : 0,
    data: textData(value),
  };
  return {
    id,
    opcode: opcodes.update,
    code: 0,
    questions: [{ name: zone, type: recordTypes.soa, class: classes.internet }],
    answers: [],
    authorities: [change],
    additionals: [],
  };
}
