/** What the statuses of Domains and Issuers have to say (docs/features/certificates.md §7.6, §9.1, §9.2). */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { domains, issuers } from '../../../src/features/certificates/resources.ts';
import type { DomainContext } from '../../../src/machines/domain/domain-context.ts';
import { lackingIn } from '../../../src/machines/domain/domain-lacking.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { StatusPromise, Wanted } from '../checkers/true-statuses.ts';
import { wholeContext } from '../features/whole-context.ts';

/** A lost request is known to be lost after half a minute, and a failed report is repeated. */
const withinMs = 45_000;
/** Reported again after half a minute; a watch that broke often pauses for as long. */
const noticedMs = 60_000;

export const domainStatus: StatusPromise = {
  name: 'a Domain has a status that is true',
  resource: domains,
  effect: 'domain.report',
  withinMs,
  noticedMs,
  actorOf: ({ metadata, spec }) =>
    metadata.labels?.['orrery.dev/shown'] === undefined
      ? `domain/_/${(spec as { host: string }).host}`
      : null,
  wanted(record, { metadata }, now) {
    const context = wholeContext(record) as DomainContext;
    const { facts } = context;
    if (facts === null) return null;
    const observedGeneration = metadata.generation;
    const isOf = (all: readonly { readonly uid: string }[]) => all.some(({ uid }) => uid === metadata.uid);
    if (isOf(facts.refused))
      return { observedGeneration, conditions: { Ready: { status: 'False', reason: 'HostOwnedByAnother' } } };
    if (!isOf(facts.sources)) return { observedGeneration: 'of another object' };
    return { observedGeneration, ...domainWanted(context, innermost(record.snapshot.value), metadata, now) };
  },
};

const words: Readonly<Record<string, string>> = {
  waitingForIssuer: 'waitingForIssuer',
  waitingForPermit: 'waitingForPermit',
  issuerUnusable: 'waitingForPermit',
  expired: 'waitingForPermit',
  preparing: 'authorizing',
  authorizing: 'authorizing',
  valid: 'valid',
  lacking: 'valid',
  backingOff: 'backingOff',
  rateLimited: 'rateLimited',
  issuerDown: 'issuerDown',
  failed: 'failed',
};

const waitingWords: ReadonlySet<string> = new Set(['backingOff', 'rateLimited', 'issuerDown', 'failed']);

function domainWanted(
  context: DomainContext,
  state: string,
  { uid }: KubeObject['metadata'],
  now: number,
): Wanted {
  const { certificate, failures } = context;
  const word = words[state];
  const isInTime = certificate !== null && certificate.notAfter > now;
  const isLacking = isInTime && lackingIn(context).some((one) => one.uid === uid);
  const time = (said: unknown) => (typeof said === 'string' ? Date.parse(said) : null);
  return {
    // In the states between, nobody is told anything.
    ...(word === undefined ? {} : { state: word, failures }),
    notAfter: (said: unknown) => seconds(time(said)) === seconds(certificate?.notAfter ?? null),
    // What is announced lies ahead, or passed within a minute: a lost question is asked again after that. Who
    // does not wait for a time of its own announces none.
    nextAttempt: (said: unknown) =>
      said === null || ((word === undefined || waitingWords.has(word)) && (time(said) ?? 0) > now - 60_000),
    conditions: {
      Ready: { status: isInTime && !isLacking ? 'True' : 'False' },
      ...(word === undefined ? {} : { Issuing: { reason: capital(word) } }),
    },
  };
}

export const issuerStatus: StatusPromise = {
  name: 'an Issuer that cannot be used says so',
  resource: issuers,
  effect: 'issuer.report',
  withinMs,
  noticedMs,
  actorOf: ({ metadata }) => `issuer/_/${metadata.name}`,
  wanted(record, { metadata }) {
    const { facts, limitedUntil, refusals = 0 } = wholeContext(record) as IssuerContext;
    const state = innermost(record.snapshot.value);
    const reason = issuerReasons[state === 'trying' && refusals > 0 ? 'refused' : state];
    if (facts === null || reason === undefined) return null;
    const status = reason === 'Verified' ? 'True' : 'False';
    return {
      observedGeneration: metadata.generation,
      rateLimitedUntil: (said: unknown) => (said === null) === (limitedUntil === null),
      conditions: { Ready: { status, reason } },
    };
  },
};

const issuerReasons: Readonly<Record<string, string>> = {
  ready: 'Verified',
  trying: 'Verified',
  rateLimited: 'RateLimited',
  down: 'AuthorityDown',
  probing: 'AuthorityDown',
  invalid: 'InvalidSpec',
  refused: 'Refused',
};

const seconds = (ms: number | null) => (ms === null ? null : Math.floor(ms / 1_000));
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** Of a chart without regions. */
function innermost(value: unknown): string {
  if (typeof value === 'string') return value;
  return innermost(Object.values(value as object)[0] ?? '');
}
