/**
 * The effects of certificates in a simulated world: Secrets of the simulated API hold the public part of
 * certificates, and the authority is a model. Each step takes a while and fails with the weather, and its
 * effects outlive whoever caused them. Reports are the real ones.
 */

import type { Chance } from '../../../packages/testing/time/chance.ts';
import { type EffectContext, type RunnableEffect, runs } from '../../../src/actors/effect-runner.ts';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import { asError, hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { acquisitionFailed } from '../../../src/features/certificates/effects/acquisition-failure.ts';
import { secrets } from '../../../src/features/certificates/resources.ts';
import {
  type AcmeFinalize,
  acmeAuthorize,
  acmeFinalize,
  acmeOrder,
  ariFetch,
  type CertificateInspect,
  type CertificateStore,
  certificateInspect,
  certificateStore,
  challengeClear,
  challengePlan,
  pendingDiscard,
} from '../../../src/machines/domain/domain-effects.ts';
import type { CertificateFacts, Target } from '../../../src/machines/domain/domain-facts.ts';
import { issuerSecretsWatch, issuerVerify } from '../../../src/machines/issuer/issuer-effects.ts';
import type { AcmeAuthority, Refusal } from './acme-authority.ts';

export interface CertificateWorldParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly authority: AcmeAuthority;
}

/** What a Secret of the simulated world says of its certificate. */
export const factsAnnotation = 'sim/certificate';
const hostAnnotation = 'orrery.dev/host';
const label = 'orrery.dev/domain';
const pendingLabel = 'orrery.dev/pending-domain';

export const factsIn = (secret: KubeObject | null): CertificateFacts | null => {
  const text = secret?.metadata.annotations?.[factsAnnotation];
  return text === undefined ? null : (JSON.parse(text) as CertificateFacts);
};
export const hostIn = (secret: KubeObject): string => secret.metadata.annotations?.[hostAnnotation] ?? '';

const isOurs = (secret: KubeObject, host: string) =>
  secret.metadata.labels?.[label] !== undefined && hostIn(secret) === host;
const pendingName = ({ secretName }: Target) => `${secretName}-next`;

export function simulatedEffects(parts: CertificateWorldParts): readonly RunnableEffect[] {
  const { authority } = parts;
  const acme = <T extends { readonly attempt: number }>(
    work: (effect: T) => Refusal | PlainEvent | Promise<PlainEvent>,
  ) => asked(parts, work);
  return [
    runs(certificateInspect, (effect, context) => inspect(parts, effect, context)),
    runs(
      acmeOrder,
      acme(({ host, attempt, replaces }) => {
        const { url, madeAt } = authority.order(host, replaces);
        return { type: 'order.made', attempt, order: { url, expires: madeAt + 604_800_000 } };
      }),
    ),
    runs(challengePlan, async ({ attempt }) => ({ type: 'challenge.planned', attempt, exhibit: null })),
    runs(challengeClear, async ({ exhibits }) => ({
      type: 'challenge.cleared',
      removed: [...exhibits],
      message: '',
    })),
    runs(
      acmeAuthorize,
      acme(({ attempt, order }) => authority.authorize(order.url) ?? { type: 'order.authorized', attempt }),
    ),
    runs(acmeFinalize, (effect, context) => finalize(parts, effect, context)),
    runs(certificateStore, (effect, context) => store(parts, effect, context)),
    runs(ariFetch, async ({ fingerprint }, { signal }) => {
      await pause(parts, signal);
      const window = authority.refusal() === null ? authority.window(fingerprint) : null;
      if (window === null) return { type: 'ari.unavailable', fingerprint, retryAfterMs: null };
      return { type: 'ari.fetched', fingerprint, ...window, retryAfterMs: null };
    }),
    runs(pendingDiscard, async ({ type, at }, { signal }) => {
      await parts.kube.delete(secrets, at.namespace, pendingName(at), {}, signal).catch(() => {});
      return { type: 'effect.settled', effect: type, error: null };
    }),
    runs(issuerVerify, async ({ check }, { signal }) => {
      await pause(parts, signal);
      const refusal = authority.refusal();
      if (refusal === null) return { type: 'issuer.verified', check };
      const { outcome, message, retryAfterMs } = refusal;
      return { type: 'issuer.failed', check, outcome, message, retryAfterMs };
    }),
    runs(issuerSecretsWatch, async ({ check }, { signal }) => {
      await sleep(parts.clock, 20_000, signal);
      return { type: 'issuer-secrets.unchanged', check };
    }),
  ];
}

/** Asks the authority; each direction takes a while. */
function asked<T extends { readonly attempt: number }>(
  parts: CertificateWorldParts,
  work: (effect: T) => Refusal | PlainEvent | Promise<PlainEvent>,
) {
  return async (effect: T, { signal }: EffectContext): Promise<PlainEvent> => {
    const { attempt } = effect;
    await pause(parts, signal);
    const refusal = parts.authority.refusal();
    const answer = refusal ?? (await work(effect));
    await pause(parts, signal);
    return 'outcome' in answer ? { type: 'acquisition.failed', attempt, ...answer } : (answer as PlainEvent);
  };
}

const pause = ({ clock, chance }: CertificateWorldParts, signal: AbortSignal) =>
  sleep(clock, chance.seldomLong(5, 800), signal);

async function read(
  { kube }: CertificateWorldParts,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<KubeObject | null> {
  try {
    return await kube.get(secrets, namespace, name, signal);
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
    throw thrown;
  }
}

async function inspect(
  parts: CertificateWorldParts,
  effect: CertificateInspect,
  { signal }: EffectContext,
): Promise<PlainEvent> {
  const { attempt, host, targets, known = [], owner, at } = effect;
  const seen = await Promise.all(
    targets.map(async (target) => ({
      target,
      secret: await read(parts, target.namespace, target.secretName, signal),
    })),
  );
  const foreign = seen.flatMap(({ target, secret }) =>
    secret !== null && !isOurs(secret, host) ? [target] : [],
  );
  const usable = seen.filter(({ secret }) => secret !== null && isOurs(secret, host));
  const good = goodOf(
    usable.map(({ target, secret }) => ({ target, facts: factsIn(secret) })),
    { known, owner, count: targets.length },
  );
  const holds = ({ namespace, secretName }: Target) =>
    seen.some(
      ({ target, secret }) =>
        target.namespace === namespace &&
        target.secretName === secretName &&
        good !== null &&
        factsIn(secret)?.fingerprint === good.fingerprint,
    );
  const missing = targets.filter((target) => !foreign.includes(target) && !holds(target));
  const waiting = at === null ? null : await read(parts, at.namespace, pendingName(at), signal);
  const facts = factsIn(waiting);
  const pending = facts === null || at === null ? null : { ...facts, at };
  return { type: 'certificate.inspected', attempt, good, missing, foreign, pending };
}

interface Stored {
  readonly target: Target;
  readonly facts: CertificateFacts | null;
}

/** When effects/certificate-inspect.ts accepts a certificate (docs/features/certificates.md §2.6). */
function goodOf(
  stored: readonly Stored[],
  {
    known,
    owner,
    count,
  }: { readonly known: readonly string[]; readonly owner: string | undefined; readonly count: number },
): CertificateFacts | null {
  for (const fingerprint of known) {
    const named = stored.find(({ facts }) => facts?.fingerprint.startsWith(fingerprint));
    if (named?.facts) return named.facts;
  }
  if (known.length > 0 && count > 1) return null;
  const own = stored.filter(({ target }) => owner === undefined || target.namespace === owner);
  return own.flatMap(({ facts }) => facts ?? []).sort((a, b) => b.notBefore - a.notBefore)[0] ?? null;
}

async function finalize(
  parts: CertificateWorldParts,
  effect: AcmeFinalize,
  { signal }: EffectContext,
): Promise<PlainEvent> {
  const { attempt, order, at, host } = effect;
  try {
    // The key first, then what is irreversible.
    await write(parts, { ...at, secretName: pendingName(at) }, host, null, signal);
    await pause(parts, signal);
    const refusal = parts.authority.refusal();
    const issued = refusal ?? parts.authority.finalize(order.url);
    await pause(parts, signal);
    if ('outcome' in issued) return { type: 'acquisition.failed', attempt, ...issued };
    await write(parts, { ...at, secretName: pendingName(at) }, host, issued, signal);
    return { type: 'certificate.received', attempt, fingerprint: issued.fingerprint };
  } catch (thrown) {
    return acquisitionFailed(attempt, thrown) as unknown as PlainEvent;
  }
}

async function store(
  parts: CertificateWorldParts,
  effect: CertificateStore,
  { signal }: EffectContext,
): Promise<PlainEvent> {
  const { attempt, host, targets, at, from, fingerprint } = effect;
  try {
    const facts = await sourceOf(parts, effect, signal);
    if (facts === null || (fingerprint != null && facts.fingerprint !== fingerprint))
      return {
        type: 'acquisition.failed',
        attempt,
        ...{
          outcome: 'refused',
          message: `nothing to store for ${host}`,
          retryAfterMs: null,
          orderLost: true,
        },
      };
    const foreign: Target[] = [];
    const refused: Array<Target & { message: string }> = [];
    for (const target of targets) {
      const standing = await read(parts, target.namespace, target.secretName, signal);
      if (standing !== null && !isOurs(standing, host)) foreign.push(target);
      else
        await write(parts, target, host, facts, signal).catch((thrown) => {
          if (!hasCode(thrown, 'KUBE_REFUSED')) throw thrown;
          refused.push({ ...target, message: asError(thrown).message });
        });
    }
    if (from === 'pending')
      await parts.kube.delete(secrets, at.namespace, pendingName(at), {}, signal).catch(() => {});
    return { type: 'certificate.stored', attempt, certificate: facts, foreign, refused };
  } catch (thrown) {
    return acquisitionFailed(attempt, thrown) as unknown as PlainEvent;
  }
}

async function sourceOf(
  parts: CertificateWorldParts,
  { from, at, host, targets, fingerprint }: CertificateStore,
  signal: AbortSignal,
): Promise<CertificateFacts | null> {
  if (from === 'pending') {
    const pending = factsIn(await read(parts, at.namespace, pendingName(at), signal));
    if (pending !== null) return pending;
  }
  for (const { namespace, secretName } of targets) {
    const secret = await read(parts, namespace, secretName, signal);
    const facts = secret !== null && isOurs(secret, host) ? factsIn(secret) : null;
    if (facts !== null && facts.fingerprint === fingerprint) return facts;
  }
  const any = await parts.kube.list(secrets, { labelSelector: label }, signal);
  for (const secret of any.items) {
    const facts = hostIn(secret) === host ? factsIn(secret) : null;
    if (facts !== null && facts.fingerprint === fingerprint) return facts;
  }
  return null;
}

async function write(
  { kube }: CertificateWorldParts,
  { namespace, secretName }: Target,
  host: string,
  facts: CertificateFacts | null,
  signal: AbortSignal,
): Promise<void> {
  const isPending = secretName.endsWith('-next');
  const annotations = {
    [hostAnnotation]: host,
    ...(facts ? { [factsAnnotation]: JSON.stringify(facts) } : {}),
  };
  const body = {
    type: 'kubernetes.io/tls',
    metadata: {
      name: secretName,
      namespace,
      labels: { [isPending ? pendingLabel : label]: host },
      annotations,
    },
  };
  await kube.patch(
    secrets,
    { namespace, name: secretName, type: 'apply', body, fieldManager: 'orrery', force: true },
    signal,
  );
}
