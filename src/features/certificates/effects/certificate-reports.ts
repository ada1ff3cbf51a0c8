/**
 * Effects `domain.report` and `issuer.report`: what people read with kubectl – the status of Domains and
 * Issuers, and Events. Outcome effect.settled, with an error if something could not be written.
 *
 * The reports on one object are written one after another, in the requested order; of waiting ones only the
 * latest is written, so a slow API server never leaves an old status behind. The chart provides the whole
 * report, so a repetition changes nothing (I5).
 */

import type { EffectContext, EffectRunner } from '../../../actors/effect-runner.ts';
import { createRepeats, type Repeats } from '../../../base/back-off.ts';
import type { Clock } from '../../../base/clock.ts';
import { asError, hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubePort, KubeResource } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { type Log, silentLog } from '../../../base/log-port.ts';
import { createLanes } from '../../../base/promises/lanes.ts';
import { isPatchUnfit } from '../../../kube/api/absent.ts';
import { writeKubeEvent } from '../../../kube/effects/kube-event.ts';
import { placeOf } from '../../../kube/effects/object-edit.ts';
import type { DomainReport, Notice, StatusCondition } from '../../../machines/domain/domain-effects.ts';
import type { DomainSource } from '../../../machines/domain/domain-facts.ts';
import { refusalReason } from '../../../machines/domain/domain-words.ts';
import type { KubeEventWrite } from '../../../machines/effects.ts';
import type { IssuerReport } from '../../../machines/issuer/issuer-effects.ts';
import { domains, issuers } from '../resources.ts';
import { sourceVersions } from './certificate-secrets.ts';

interface ReportParts {
  readonly kube: KubePort;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly replica: string;
  readonly log?: Log;
}

type Regarding = KubeEventWrite['regarding'];

export function reportDomain({ kube, ...parts }: ReportParts): EffectRunner<DomainReport> {
  const statuses = createLatest(kube, domains);
  const notify = notifier({ kube, ...parts });
  const settled = settling('domain.report', parts);
  return async ({ host, sources, refused = [], status, lacking = {}, notice, at }, context) => {
    const { notBefore, notAfter, renewAt, nextAttempt } = status;
    const body = {
      ...status,
      notBefore: time(notBefore),
      notAfter: time(notAfter),
      renewAt: time(renewAt),
      nextAttempt: time(nextAttempt),
    };
    const write = (source: DomainSource, told: Parameters<typeof statusBody>[0]) =>
      source.kind === 'Domain' ? [statuses.write(source, statusBody(told), context.signal)] : [];
    const written = sources.flatMap((one) => write(one, withReady(body, lacking[one.uid])));
    const told = sources.map((one, index) => notify(regardingOf(one), notice, at, context, index));
    const denied = refused.flatMap((one, index) => {
      // One Event for each object, however often it is reported.
      const once = { ...context, key: `refused/${one.uid}/${host}` };
      const event = notify(regardingOf(one), refusalNotice(host), at, once, sources.length + index);
      return [...write(one, refusal(host, at)), event];
    });
    const results = await Promise.allSettled([...written, ...told, ...denied]);
    return settled(results, context);
  };
}

const regardingOf = ({ kind, namespace, name, uid }: DomainSource): Regarding => ({
  apiVersion: sourceVersions[kind],
  kind,
  namespace,
  name,
  uid,
});

/** The status for an object whose own Secret lacks the certificate. */
function withReady<S extends { readonly conditions: readonly StatusCondition[] }>(
  status: S,
  ready: StatusCondition | undefined,
): S {
  if (ready === undefined) return status;
  return { ...status, conditions: status.conditions.map((one) => (one.type === 'Ready' ? ready : one)) };
}

/** The owner is not named: namespaces need not know of each other. */
const refusalText = (host: string) =>
  `${host} belongs to another namespace, whose object asked for it first; its Domain may share it (spec.sharedWith)`;

const refusalNotice = (host: string): Notice => ({
  eventType: 'Warning',
  reason: refusalReason,
  note: refusalText(host),
});

/** The status of an object that asks for another namespace's host: docs/features/certificates.md §2.2. */
function refusal(host: string, at: number) {
  const message = refusalText(host);
  const none = { notBefore: null, notAfter: null, renewAt: null, nextAttempt: null };
  const no = { status: 'False', since: at } as const;
  return {
    state: 'refused',
    ...none,
    failures: 0,
    lastError: message,
    conditions: [
      { type: 'Ready', ...no, reason: refusalReason, message },
      { type: 'Issuing', ...no, reason: refusalReason, message: '' },
    ],
  };
}

export function reportIssuer({ kube, ...parts }: ReportParts): EffectRunner<IssuerReport> {
  const statuses = createLatest(kube, issuers);
  const notify = notifier({ kube, ...parts });
  const settled = settling('issuer.report', parts);
  return async ({ issuer, uid, generation, status, notice, at }, context) => {
    const { rateLimitedUntil, outageSince, ...others } = status;
    const body = { ...others, rateLimitedUntil: time(rateLimitedUntil), outageSince: time(outageSince) };
    const written = statuses.write({ name: issuer, uid, generation }, statusBody(body), context.signal);
    const regarding = { apiVersion: 'orrery.dev/v1alpha1', kind: 'Issuer', namespace: '', name: issuer, uid };
    const told = notify(regarding, notice, at, context, 0);
    const results = await Promise.allSettled([written, told]);
    return settled(results, context);
  };
}

function statusBody(
  status: { readonly conditions: readonly StatusCondition[] } & Readonly<Record<string, unknown>>,
): StatusBody {
  const conditions = status.conditions.map(({ since, ...condition }) => ({
    ...condition,
    lastTransitionTime: kubeTime(since),
  }));
  const given = Object.entries(status).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(given), conditions };
}

const time = (ms: number | null) => (ms === null ? null : kubeTime(ms));

function notifier({ kube, ...parts }: Pick<ReportParts, 'kube' | 'replica' | 'log'>) {
  const write = writeKubeEvent(kube, parts);
  return async (
    regarding: Regarding,
    notice: Notice | null,
    at: number,
    context: EffectContext,
    index: number,
  ) => {
    if (notice === null) return;
    const effect = { type: 'kube-event.write', regarding, ...notice, at } as const;
    await write(effect, { ...context, key: `${context.key}/${index}` });
  };
}

/**
 * What a report ends with. What refuses one status mostly refuses all, again and again: the log has one line
 * for all objects, and less and less often.
 */
function settling(effect: string, { clock, log = silentLog }: Pick<ReportParts, 'clock' | 'log'>) {
  const told = new Map<string, Repeats>();
  const isDue = (thrown: unknown) => {
    const code = thrown instanceof OrreryError ? thrown.code : '';
    const repeats = told.get(code) ?? createRepeats(clock);
    told.set(code, repeats);
    return repeats.isDue();
  };
  return (
    results: ReadonlyArray<PromiseSettledResult<unknown>>,
    { actor, signal }: Pick<EffectContext, 'actor' | 'signal'>,
  ) => {
    const failure = results.find((one) => one.status === 'rejected');
    if (failure === undefined) {
      const isOvertaken = results.some((one) => one.status === 'fulfilled' && one.value === overtaken);
      return {
        type: 'effect.settled',
        effect,
        error: null,
        ...(isOvertaken && { overtaken: true }),
      } as const;
    }
    const error = asError(failure.reason).message;
    // Given up, it is the next owner's.
    if (!signal.aborted && isDue(failure.reason)) log.warn({ actor, error }, notWritten);
    return { type: 'effect.settled', effect, error } as const;
  };
}

const notWritten =
  'a status could not be written, perhaps those of other objects neither; each is tried again half a minute later, and told again less and less often';

/** A later status of the object is written in its place. */
const overtaken = 'overtaken';

interface Place {
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  /** Of the specification that the status is about. */
  readonly generation: number;
}

interface StatusBody {
  readonly conditions: readonly object[];
  readonly [field: string]: unknown;
}

/**
 * The status, if the object still has that specification: a Domain that now asks for another host is told of
 * that one, and what the former host's actor had still to say comes too late.
 */
function statusPatch({ uid, generation }: Place, status: StatusBody): readonly object[] {
  const conditions = status.conditions.map((one) => ({ ...one, observedGeneration: generation }));
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/generation', value: generation },
    { op: 'add', path: '/status', value: { ...status, conditions, observedGeneration: generation } },
  ];
}

/** Writes the statuses of one kind: for each object one at a time, and only the latest. */
function createLatest(kube: KubePort, resource: KubeResource) {
  const inTurn = createLanes();
  const newest = new Map<string, object>();
  return {
    async write(place: Place, status: StatusBody, signal: AbortSignal): Promise<typeof overtaken | null> {
      const { namespace, name, uid } = place;
      newest.set(uid, status);
      const turn = inTurn(uid, async () => {
        if (newest.get(uid) !== status) return overtaken;
        const where = { ...placeOf({ namespace, name }), subresource: 'status', type: 'json' } as const;
        const patch = { ...where, body: statusPatch(place, status), isRepeatable: true };
        await kube.patch(resource, patch, signal).catch((thrown) => {
          // The object is gone, replaced or edited: nothing to write. A conflict may come from two
          // simultaneous writes, so it is retried with the sources known then.
          if (!isPatchUnfit(thrown) && !hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
        });
        return null;
      });
      return turn.finally(() => {
        if (newest.get(uid) === status) newest.delete(uid);
      });
    },
  };
}
