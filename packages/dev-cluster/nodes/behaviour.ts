/**
 * How the backend of one Pod behaves: annotations `dev.orrery.dev/…`, read again on each change of the Pod.
 *
 * | annotation | values | default |
 * |---|---|---|
 * | `health` | `ok`, `unhealthy` (503), `no-header` (old proxies), `silent`, `reset` | `ok` |
 * | `start-delay` | a duration until the containers are ready | the kubelet's |
 * | `not-ready` | `true`: the containers' own readiness fails | – |
 * | `drain` | how long it serves after its deletion, at most the grace period | preStop sleep, else the
 * kubelet's |
 *
 * A container whose `TS_ENABLE_HEALTH_CHECK` is not `true` has no health endpoint, as with Tailscale's
 * proxies.
 */
import { hasCode } from '../../../src/base/errors.ts';
import { devAnnotation, isDeleting, type PodObject } from '../objects.ts';
import { parseDurationMs } from '../scenarios/durations.ts';

const healthAnswers = ['ok', 'unhealthy', 'no-header', 'silent', 'reset', 'absent'] as const;
export type HealthAnswer = (typeof healthAnswers)[number];

export interface Behaviour {
  readonly health: HealthAnswer;
  readonly startDelayMs: number;
  /** What the containers' own readiness probes say. */
  readonly probesPass: boolean;
  readonly drainMs: number;
}

export interface BehaviourDefaults {
  readonly startDelayMs: number;
  readonly drainMs: number;
}

export function behaviourOf(pod: PodObject, defaults: BehaviourDefaults): Behaviour {
  return {
    health: healthOf(pod),
    startDelayMs: durationOf(pod, 'start-delay') ?? defaults.startDelayMs,
    probesPass: devAnnotation(pod, 'not-ready') !== 'true',
    drainMs: Math.min(durationOf(pod, 'drain') ?? preStopMs(pod) ?? defaults.drainMs, graceMs(pod)),
  };
}

function healthOf(pod: PodObject): HealthAnswer {
  const asked = devAnnotation(pod, 'health');
  const known = healthAnswers.find((answer) => answer === asked);
  if (known !== undefined) return known;
  const switches = (pod.spec?.containers ?? [])
    .flatMap((container) => container.env ?? [])
    .filter((entry) => entry.name === 'TS_ENABLE_HEALTH_CHECK');
  return switches.some((entry) => entry.value !== 'true') ? 'absent' : 'ok';
}

/** An unreadable duration counts as none: a Pod is never lost to a typing error. */
function durationOf(pod: PodObject, name: string): number | undefined {
  const text = devAnnotation(pod, name);
  if (text === undefined) return undefined;
  try {
    return parseDurationMs(text);
  } catch (thrown) {
    if (hasCode(thrown, 'USAGE')) return undefined;
    throw thrown;
  }
}

function preStopMs(pod: PodObject): number | undefined {
  const sleeps = (pod.spec?.containers ?? []).map(
    (container) => container.lifecycle?.preStop?.sleep?.seconds ?? 0,
  );
  const longest = Math.max(0, ...sleeps);
  return longest > 0 ? longest * 1_000 : undefined;
}

/** The grace of this deletion; while the Pod lives, that of its specification. */
function graceMs(pod: PodObject): number {
  const granted = isDeleting(pod) ? pod.metadata.deletionGracePeriodSeconds : undefined;
  const seconds = granted ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
  return Number(seconds) * 1_000;
}
