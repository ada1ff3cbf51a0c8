/**
 * What DNS says about a challenge's name: the target of its CNAME, and its zone.
 *
 * Absent: caching; a challenge asks a handful of questions, and a stale answer would come at the worst time.
 */
import { getServers } from 'node:dns';
import { OrreryError } from '../../../base/errors.ts';
import type { Random } from '../../../base/random.ts';
import { exchange } from './exchange.ts';
import { classes, type DnsMessage, opcodes, recordTypes, writeMessage } from './message.ts';

/** Delegations need one or two steps; a longer chain is a mistake. */
const chainMax = 8;
const codes = { ok: 0, absent: 3 } as const;
/** RFC 1035 4.1.1. */
const codeNames: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  4: 'NOTIMP',
  5: 'REFUSED',
};

export type Names = ReturnType<typeof createNames>;

/** @param servers `host:port`, asked in turn; default: the machine's */
export function createNames(parts: { readonly random: Random; readonly servers?: readonly string[] }) {
  const ask = (name: string, type: number, signal: AbortSignal) =>
    asked(parts.servers ?? ownServers(), { name, type, random: parts.random }, signal);
  return {
    /** The target of the name's CNAMEs; the name itself without one. @throws OrreryError ACME_REFUSED */
    async follow(name: string, signal: AbortSignal): Promise<string> {
      const seen = [name];
      for (;;) {
        const at = seen.at(-1) ?? name;
        const { answers } = await ask(at, recordTypes.cname, signal);
        const next = answers.find((one) => one.type === recordTypes.cname && one.name === at)?.target;
        if (next === undefined) return at;
        if (seen.includes(next) || seen.length > chainMax)
          throw refused(`the CNAMEs of ${name} lead nowhere: ${[...seen, next].join(' → ')}`);
        seen.push(next);
      }
    },
    /** The zone that contains the name. @throws OrreryError ACME_REFUSED */
    zoneOf: (name: string, signal: AbortSignal): Promise<string> =>
      zoneBy((at) => ask(at, recordTypes.soa, signal), name),
  };
}

const refused = (text: string) => new OrreryError('ACME_REFUSED', text);

/** The machine's, in the form `10.0.0.10`, `[::1]:5353`. */
const ownServers = () =>
  getServers().map((one) =>
    /^\[|^[^:]*:\d+$/.test(one) ? one : one.includes(':') ? `[${one}]:53` : `${one}:53`,
  );

/** The zone of a name, asked from one authoritative server. */
export function zoneAt(server: string, name: string, random: Random, signal: AbortSignal): Promise<string> {
  return zoneBy((at) => asked([server], { name: at, type: recordTypes.soa, random }, signal), name);
}

/** Longer than an answer takes; the update before it had one, ms. */
const visibleMs = 3_000;

/**
 * Why others will not see a record of this name, though the server took it; null: they will, or it does not
 * say. A record beside a CNAME is dropped without a word (RFC 2136 3.4.2.2), and one below a delegation is
 * another server's.
 */
export async function whyHidden(
  { server, zone, fqdn }: { readonly server: string; readonly zone: string; readonly fqdn: string },
  random: Random,
  signal: AbortSignal,
): Promise<string | null> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(visibleMs)]);
  // A primary may answer no questions.
  const message = await asked([server], { name: fqdn, type: recordTypes.txt, random }, patience).catch(() => {
    signal.throwIfAborted();
    return null;
  });
  const led = message?.answers.find(({ type, name }) => type === recordTypes.cname && name === fqdn);
  if (led !== undefined)
    return `it is a CNAME to ${led.target}, and takes no record beside it; set cnameStrategy: Follow, or remove the CNAME`;
  const cut = message?.authorities.find(
    ({ type, name }) => type === recordTypes.ns && name.endsWith(`.${zone}`),
  );
  return cut === undefined
    ? null
    : `the server delegates ${cut.name} to ${cut.target}, which has to be told instead`;
}

/** From the name upwards: the first answer about a zone above the name has found it. */
async function zoneBy(ask: (name: string) => Promise<DnsMessage>, name: string): Promise<string> {
  const labels = name.split('.');
  for (let n = 0; n < labels.length; n++) {
    const at = labels.slice(n).join('.');
    const { answers, authorities } = await ask(at);
    // A CNAME says nothing about the zone of the name itself.
    const isLed = answers.some(({ type, name: owner }) => type === recordTypes.cname && owner === at);
    const found = isLed
      ? undefined
      : [...answers, ...authorities].find(
          ({ type, name: zone }) => type === recordTypes.soa && (at === zone || at.endsWith(`.${zone}`)),
        );
    if (found !== undefined && found.name !== '') return found.name;
  }
  throw refused(`no zone was found that holds ${name}`);
}

async function asked(
  servers: readonly string[],
  { name, type, random }: { readonly name: string; readonly type: number; readonly random: Random },
  signal: AbortSignal,
): Promise<DnsMessage> {
  let last = refused('there is no name server to ask');
  for (const server of servers) {
    const question: DnsMessage = {
      id: Math.floor(random.next() * 0x10000),
      opcode: opcodes.query,
      code: 0,
      isRecursionDesired: true,
      questions: [{ name, type, class: classes.internet }],
      answers: [],
      authorities: [],
      additionals: [],
    };
    try {
      const { message } = await exchange(server, writeMessage(question), signal);
      if (message.code === codes.ok || message.code === codes.absent) return message;
      const code = codeNames[message.code] ?? message.code;
      last = refused(`name server ${server} answers ${code} to a question for ${name}`);
    } catch (thrown) {
      signal.throwIfAborted();
      last = thrown instanceof OrreryError ? thrown : refused(String(thrown));
    }
  }
  throw last;
}
