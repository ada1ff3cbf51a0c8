/**
 * The exhibits of challenges: plans one from the Issuer's specification, creates and removes it, for every
 * kind of challenge. Creating and removing are idempotent.
 */

import type { FeatureParts } from '../../../actors/feature.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { DnsExhibit, Exhibit } from '../../../machines/domain/exhibit.ts';
import type { HttpClient } from '../acme/authority-http.ts';
import type { DnsSpec, TsigAlgorithm, UpdateSpec } from '../challenge-spec.ts';
import { type Names, zoneAt } from '../dns/names.ts';
import type { TsigKey } from '../dns/tsig.ts';
import { updateText } from '../dns/update.ts';
import { unusableIssuer } from '../effects/acquisition-failure.ts';
import { readSecret } from '../effects/certificate-secrets.ts';
import type { AcmeSpec } from '../issuer-spec.ts';
import { makeRoute, removeRoute, routeName } from './route-objects.ts';
import { askSolver } from './solver-webhook.ts';
import { callWebhook } from './url-webhook.ts';

/** Orrery's own Service for challenge answers. */
export interface ChallengeService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ExhibitParts extends Pick<FeatureParts, 'kube' | 'clock' | 'random'> {
  readonly http: HttpClient;
  readonly names: Names;
  /** null: not configured (--acme-service). */
  readonly service: ChallengeService | null;
}

interface Wish {
  readonly host: string;
  /** The value that the authority must see. */
  readonly value: string;
  readonly spec: AcmeSpec;
  readonly issuer: { readonly name: string; readonly uid: string };
}

/** Checks whether an Issuer's way of proving hosts is possible. @throws OrreryError CERTIFICATE_UNUSABLE */
export async function checkChallenge(
  { kube, service }: Pick<ExhibitParts, 'kube' | 'service'>,
  { challenge }: AcmeSpec,
  signal: AbortSignal,
): Promise<void> {
  if (challenge === 'http01') return;
  if ('http01' in challenge) requireService(service);
  else if (challenge.dns01.rfc2136 !== undefined) await keyOf(kube, challenge.dns01.rfc2136, signal);
}

function requireService(service: ChallengeService | null): ChallengeService {
  if (service !== null) return service;
  throw unusableIssuer(
    'spec.acme.challenge.http01 needs to know where Orrery answers: start it with --acme-service',
  );
}

/** null: nothing but the HTTP answer. @throws OrreryError ACME_REFUSED | CERTIFICATE_UNUSABLE */
export async function planExhibit(
  parts: ExhibitParts,
  { host, value, spec, issuer }: Wish,
  signal: AbortSignal,
): Promise<Exhibit | null> {
  const { challenge } = spec;
  if (challenge === 'http01') return null;
  if ('dns01' in challenge)
    return planRecord(
      parts,
      challenge.dns01,
      { host, value, namespace: spec.accountSecret.namespace },
      signal,
    );
  const object = { host, name: routeName(host), service: requireService(parts.service), owner: issuer };
  const { ingress, gateway } = challenge.http01;
  if (ingress !== undefined) return { kind: 'ingress', ...object, className: ingress.className };
  return { kind: 'gateway', ...object, parentRefs: gateway?.parentRefs ?? [] };
}

async function planRecord(
  { names, random }: ExhibitParts,
  { webhook, rfc2136, cnameStrategy }: DnsSpec,
  { host, value, namespace }: { readonly host: string; readonly value: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<DnsExhibit> {
  const name = `_acme-challenge.${host.replace(/^\*\./, '')}`;
  const fqdn = cnameStrategy === 'Follow' ? await names.follow(name, signal) : name;
  if (rfc2136 !== undefined) {
    const { server, keyName, algorithm, secretRef } = rfc2136;
    const zone = rfc2136.zone ?? (await zoneAt(server, fqdn, random, signal));
    return { kind: 'rfc2136', fqdn, value, server, zone, keyName, algorithm, secretRef };
  }
  if (typeof webhook !== 'object') return { kind: 'webhook', fqdn, value, url: webhook ?? '' };
  const zone = await names.zoneOf(fqdn, signal);
  const { groupName, solverName, config } = webhook;
  const solver = { groupName, solverName, ...(config === undefined ? {} : { config }) };
  return { kind: 'solver', fqdn, value, zone, dnsName: host, namespace, config: undefined, ...solver };
}

/** What each kind of challenge calls the two things that happen to an exhibit. */
const words = {
  made: { webhook: 'present', solver: 'Present', update: 'add' },
  removed: { webhook: 'cleanup', solver: 'CleanUp', update: 'delete' },
} as const;

/** @param uid of this run; it identifies a solver's answer */
export async function changeExhibit(
  to: keyof typeof words,
  parts: ExhibitParts,
  exhibit: Exhibit,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const { kube, http, clock } = parts;
  const { webhook, solver: action, update: change } = words[to];
  if (exhibit.kind === 'webhook') return callWebhook(http, exhibit, webhook, signal);
  if (exhibit.kind === 'solver') return askSolver(kube, exhibit, { action, uid }, signal);
  if (exhibit.kind === 'rfc2136') return update(parts, exhibit, change, signal);
  if (to === 'made') return makeRoute(kube, exhibit, clock, signal);
  return removeRoute(kube, exhibit, signal);
}

type UpdateExhibit = Extract<Exhibit, { kind: 'rfc2136' }>;

async function update(
  parts: ExhibitParts,
  exhibit: UpdateExhibit,
  action: 'add' | 'delete',
  signal: AbortSignal,
): Promise<void> {
  const { server, zone, fqdn, value } = exhibit;
  const algorithm = exhibit.algorithm as TsigAlgorithm;
  const key = await keyOf(parts.kube, { ...exhibit, algorithm }, signal);
  await updateText({ server, zone, fqdn, value, action }, key, parts, signal);
}

/** The key as in the Secret: base64, as in name servers' own files. */
async function keyOf(
  kube: KubePort,
  { keyName, algorithm, secretRef }: Pick<UpdateSpec, 'keyName' | 'algorithm' | 'secretRef'>,
  signal: AbortSignal,
): Promise<TsigKey> {
  const { namespace, name, key } = secretRef;
  const text = (await readSecret(kube, { namespace, name }, signal))?.[key]?.trim() ?? '';
  if (text === '')
    throw unusableIssuer(
      `the Secret ${namespace}/${name} with the key ${key} (acme.challenge.dns01.rfc2136) does not exist`,
    );
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    throw unusableIssuer(`the Secret ${namespace}/${name} holds no TSIG key in base64 (${key})`);
  return { name: keyName, algorithm, secret: Buffer.from(text, 'base64') };
}
