/** Ways to break a feature, as data; the simulation of that feature alone has to notice each. */

import { type Mutation, one } from './mutation.ts';
import { worldMutations } from './world-mutations.ts';

const lease = 'src/machines/election/election-lease.ts';
const elections: readonly Mutation[] = [
  one(
    'elections',
    'a Lease is given back though its leader was told that it leads',
    'src/machines/election/election.ts',
    "{ guard: 'isToldStill', target: 'expiring' },",
    '',
  ),
  {
    name: 'a foreign holder is not respected',
    feature: 'elections',
    changes: [
      {
        file: lease,
        find: 'return at >= foreignEnd(context) || isLeftByUs(context);',
        replace: 'return true;',
      },
      { file: lease, find: 'return { respectMs: record.durationSeconds * 1_000 };', replace: 'return {};' },
    ],
  },
  one(
    'elections',
    'a leader may go on past the renew deadline',
    'src/machines/election/election-words.ts',
    'return Math.min(holderEnd(context) ?? Number.POSITIVE_INFINITY, deadlineOf(context));',
    'return holderEnd(context) ?? Number.POSITIVE_INFINITY;',
  ),
  one(
    'elections',
    'a new leader takes over the term of the one before',
    lease,
    'transitions: nextCount(context),',
    'transitions: before?.transitions ?? 0,',
  ),
  one(
    'elections',
    'who leads is told once and never again',
    'src/machines/election/election-words.ts',
    'if (facts === null || facts.uid === null || context.ending || telling !== null) return false;',
    'if (facts === null || facts.uid === null || context.ending || told !== null || telling !== null) return false;',
  ),
  one(
    'elections',
    'a Lease is written whatever version it has by now',
    'src/features/elections/lease.ts',
    'const object = { ...base, spec: specOf(base, record) };',
    "const object = { ...base, metadata: { ...base.metadata, resourceVersion: '' }, spec: specOf(base, record) };",
  ),
  one(
    'elections',
    'a write of the Lease that failed counts as done',
    'src/features/elections/effects/lease-effects.ts',
    "if (hasCode(thrown, 'KUBE_CONFLICT')) return { ...refused, reason: 'conflict' };\n    return { ...refused, reason: hasCode(thrown, 'LEASE_LATE') ? 'late' : 'error' };",
    "if (hasCode(thrown, 'LEASE_LATE')) return { ...refused, reason: 'late' };\n    return { type: 'lease.written', attempt, resourceVersion: '', holder: record.holder, term };",
  ),
  one(
    'elections',
    'what somebody wrote over a status is not noticed',
    'src/machines/election/election-words.ts',
    'return isSaidByOther(event.facts, facts?.uid, [saidOf(told), saidOf(telling)], event.at);',
    'return isSaidByOther(null, facts?.uid, [saidOf(told), saidOf(telling)], event.at);',
  ),
  one(
    'elections',
    'an Election that is made anew counts as told',
    'src/machines/election/election-context.ts',
    '...(before?.uid === facts.uid ? {} : { told: null, telling: null, ...forgiven(context) }),',
    '',
  ),
];

const certificates: readonly Mutation[] = [
  one(
    'certificates',
    'permits are given whatever the budget says',
    'src/machines/issuer/issuer-queue.ts',
    'return Math.max(orders, certificates, duplicates);',
    'return Math.min(0, orders, certificates, duplicates);',
  ),
  one(
    'certificates',
    'whoever asks for a host gets its key',
    'src/features/certificates/claims/claims.ts',
    'const isAdmitted = ({ namespace }: DomainSource) => namespace === owner || shared.has(namespace);\n  const admitted = [...own, ...granted];',
    'const isAdmitted = () => true;\n  const admitted = [...own, ...granted, ...others];',
  ),
  one(
    'certificates',
    'an authority that was away is not looked at again',
    'src/machines/issuer/issuer.ts',
    "after: { probe: 'probing' },",
    'after: {},',
  ),
  one(
    'certificates',
    'a host that was refused waits for a day',
    'src/machines/domain/domain-schedule.ts',
    'return bounded(backOffMs(failures - 1, minuteMs, 2 * dayMs) * (0.9 + 0.2 * random));',
    'return bounded(1_440 * minuteMs + failures * random);',
  ),
  one(
    'certificates',
    'a host that nobody asks for any more stays',
    'src/machines/domain/domain.ts',
    "{ guard: 'isGone', target: '.retired', actions: ['leavePlace', 'discardPending'] },",
    '',
  ),
  one(
    'certificates',
    'those who may not have a host are not told',
    'src/features/certificates/effects/certificate-reports.ts',
    'const denied = refused.flatMap(',
    'const denied = refused.slice(0, 0).flatMap(',
  ),
  one(
    'certificates',
    'after an outage a host says that the authority is down, whatever it waits for',
    'src/machines/domain/domain-setup.ts',
    'isDeferredByQueue: (args: Args) => isDeferral(args, byTheQueue),',
    'isDeferredByQueue: () => false,',
  ),
  one(
    'certificates',
    'a time that was waited for stays in the status',
    'src/machines/domain/domain-report.ts',
    'nextAttempt: heldWords.includes(word) ? nextAttempt : null,',
    'nextAttempt,',
  ),
  one(
    'certificates',
    'a report that was lost is not made again',
    'src/machines/domain/domain.ts',
    "{ guard: 'isReportLost', actions: ['noteUnwritten', 'reportLater'] },",
    '',
  ),
  one(
    'certificates',
    'an Issuer that may be used again tells nobody',
    'src/machines/issuer/issuer.ts',
    "after: { limit: { target: '#issuer.serving.trying', actions: ['noteReturn', ...tell('trying')] } },",
    "after: { limit: { target: '#issuer.serving.trying', actions: 'noteReturn' } },",
  ),
  one(
    'certificates',
    'what somebody wrote over the status of an Issuer is not noticed',
    'src/machines/issuer/issuer-report.ts',
    'return isSaidByOther(event.facts, facts.uid, [known], event.at);',
    'return isSaidByOther(null, facts.uid, [known], event.at);',
  ),
  one(
    'certificates',
    'what somebody wrote over the status of a Domain is not noticed',
    'src/machines/domain/domain-report.ts',
    'isSaidByOther(one, one.uid, [known.get(one.uid) ?? one.said], event.at)',
    'isSaidByOther(null, one.uid, [known.get(one.uid) ?? one.said], event.at)',
  ),
  one(
    'certificates',
    'an order that is abandoned does not count',
    'src/machines/domain/domain-requests.ts',
    'return isOrdered && isUnused(given.outcome) ? { ...given, ordered: true } : given;',
    'return isOrdered && isUnused(given.outcome) ? { ...given } : given;',
  ),
  one(
    'certificates',
    'a report of an earlier generation is written',
    'src/features/certificates/effects/certificate-reports.ts',
    "{ op: 'test', path: '/metadata/generation', value: generation },",
    "{ op: 'test', path: '/metadata/uid', value: uid },",
  ),
  one(
    'certificates',
    'an Issuer that begins to serve a host is no news to it',
    'src/machines/domain/domain.ts',
    "guard: 'isIssuerNews',",
    'guard: () => false,',
  ),
];

const endpoints: readonly Mutation[] = [
  {
    name: 'what an endpoint leaves is written before where it goes',
    feature: 'endpoints',
    changes: [
      {
        file: 'src/features/endpoints/effects/slice-writes.ts',
        find: 'await Promise.all(all);',
        replace: '',
      },
      {
        file: 'src/features/endpoints/effects/slice-writes.ts',
        find: "if ((await Promise.all(before)).some((result) => result !== 'written')) return 'skipped';",
        replace: '',
      },
    ],
  },
  one(
    'endpoints',
    'an address that clients cannot be sent to is published',
    'src/features/endpoints/digest.ts',
    'return unreachability(text) === null ? parseAddress(text) : undefined;',
    'return parseAddress(text);',
  ),
  one(
    'endpoints',
    'a workload counts as ready whatever it says',
    'src/features/endpoints/packing/desired.ts',
    "const serving = digest.ready === 'True';",
    'const serving = true;',
  ),
  one(
    'endpoints',
    'slices of another controller are written as ours',
    'src/features/endpoints/standing-slices.ts',
    'managed ?? (foreign?.writer === takeOver ? foreign?.content : undefined);',
    "managed ?? (takeOver === '' ? undefined : foreign?.content);",
  ),
  one(
    'endpoints',
    'slices that are to be taken over are left',
    'src/features/endpoints/standing-slices.ts',
    'managed ?? (foreign?.writer === takeOver ? foreign?.content : undefined);',
    "managed ?? (takeOver === '' ? foreign?.content : undefined);",
  ),
  one(
    'endpoints',
    'endpoints of a headless Service have no name',
    'src/features/endpoints/packing/desired.ts',
    '...(service.headless && isDnsLabel(name) ? { hostname: name } : {}),',
    '...(service.headless && isDnsLabel(name) ? {} : {}),',
  ),
  one(
    'endpoints',
    'slices of an earlier Service of the name are kept',
    'src/features/endpoints/packing/pack.ts',
    'return owners.length > 0 && owners.every(({ uid }) => uid !== owner.uid);',
    'return owners.length < 0 && owner.uid === null;',
  ),
  one(
    'endpoints',
    'what somebody changed in a slice is no news',
    'src/features/endpoints/standing-slices.ts',
    'const slices = [before, digest].filter((one) => one !== null).filter(isOfWorkloads);',
    'const slices: EndpointSliceDigest[] = [];',
  ),
  one(
    'endpoints',
    'a pass that failed is not made again',
    'src/machines/service/endpoints-region.ts',
    "after: { retryPause: 'reconciling.retrying' },",
    'after: {},',
  ),
  one(
    'endpoints',
    'a pass that failed is made again minutes later',
    'src/machines/service/slices-context.ts',
    'Math.max(retryAfterMs, Math.min(',
    'Math.max(240_000, retryAfterMs, Math.min(',
  ),
  one(
    'endpoints',
    'a Service of two families is published in one',
    'src/features/endpoints/digest.ts',
    'if (said.length > 0) return [...new Set(said)];',
    'if (said.length > 0) return said.slice(0, 1);',
  ),
  one(
    'endpoints',
    'a workload that is being deleted counts as ready',
    'src/features/endpoints/packing/desired.ts',
    'ready: service.publishNotReady || (serving && !digest.deleting),',
    'ready: service.publishNotReady || serving,',
  ),
  one(
    'endpoints',
    'a Service that becomes an ExternalName keeps its slices',
    'src/features/endpoints/digest.ts',
    "if (spec.type === 'ExternalName' || Object.keys(selector).length === 0) return {};",
    'if (Object.keys(selector).length === 0) return {};',
  ),
  one(
    'endpoints',
    'a condition of a workload counts as written though nobody saw it',
    'src/machines/workload/workload-context.ts',
    'const isLapsed = marked !== null && hasPassed(echoMs, marked.at, at);',
    'const isLapsed = false;',
  ),
  one(
    'endpoints',
    'a workload that asks to be probed no more is written',
    'src/features/endpoints/effects/workload-condition.ts',
    'isAsked = workload.metadata.annotations?.[probeAnnotation] !== undefined;',
    'isAsked = true;',
  ),
  one(
    'endpoints',
    'what somebody wrote over the condition of a workload stays',
    'src/machines/workload/workload-context.ts',
    'context.verdict !== null && readyOf(context) !== context.verdict;',
    'context.verdict !== null && readyOf(context) === null;',
  ),
];

const releases: readonly Mutation[] = [
  one(
    'releases',
    'objects of others are written over',
    'src/features/releases/release-apply.ts',
    'if (live !== null) checkMayTouch(manifest, live);',
    'void checkMayTouch;',
  ),
  one(
    'releases',
    'an object that somebody takes meanwhile is written over',
    'src/features/releases/release-apply.ts',
    'const seen = live === null ? {} : preconditions(live.metadata);',
    'const seen = live === null ? {} : { uid: live.metadata.uid };',
  ),
  one(
    'releases',
    'an object that somebody creates between look and apply is kept',
    'src/features/releases/release-apply.ts',
    'if (live !== null || managers.every(({ manager }) => manager === fieldManager)) return object;',
    'if (managers.length >= 0) return object;',
  ),
];

export const featureMutations: readonly Mutation[] = [
  ...elections,
  ...certificates,
  ...endpoints,
  ...releases,
  ...worldMutations,
];
