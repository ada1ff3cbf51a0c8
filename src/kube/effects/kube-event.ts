/**
 * Effect `kube-event.write`: writes a Kubernetes Event for people who use `kubectl describe`.
 *
 * The Event's name derives from its object and content, so a repetition is the same Event with a series that
 * counts it, as Kubernetes' recorders do: a flood is one line with a number. An annotation names the last
 * effect counted, so a repeated run after a crash counts once (I5). It is tried once, because no chart
 * depends on an Event. The log says each Warning too, and what could not be written.
 */
import { createHash } from 'node:crypto';
import type { EffectRunner } from '../../actors/effect-runner.ts';
import { hasCode } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import { kubeMicroTime } from '../../base/kube-time.ts';
import { type Log, silentLog } from '../../base/log-port.ts';
import type { KubeEventWrite } from '../../machines/effects.ts';
import { events } from '../api/resources.ts';

const controller = 'orrery.dev/orrery';
/** events.k8s.io/v1: bytes of `note`, and of `reason`, `action` and `reportingInstance`. */
const noteBytesMax = 1024;
const wordBytesMax = 128;
/** An object's name has at most 253 characters; 17 are for the hash. */
const nameCharsMax = 236;

/** The last effect that was counted. */
const effectAnnotation = 'orrery.dev/effect';
/** How often another writer may interfere. */
const triesMax = 3;

/**
 * Outcome effect.settled, with an error if the Event cannot be written.
 *
 * @param parts.replica name of this replica: the Event's reportingInstance
 * @param parts.log absent: nothing is logged
 * @throws temporary errors; the host then tells the actor
 */
export function writeKubeEvent(
  kube: KubePort,
  { replica, log = silentLog }: { readonly replica: string; readonly log?: Log },
): EffectRunner<KubeEventWrite> {
  return async (effect, { key, signal }) => {
    const { regarding, eventType, reason, note } = effect;
    const object = `${regarding.kind} ${regarding.namespace || '_'}/${regarding.name}`;
    const event = eventOf(effect, key, replica);
    try {
      await createOrCount(kube, event, signal);
      if (eventType === 'Warning') log.warn({ object, reason, note }, 'wrote a Warning Event');
      return settled(null);
    } catch (thrown) {
      // The namespace is being deleted, we lack the permission, or others count all the time.
      if (!hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_REFUSED', 'KUBE_CONFLICT')) throw thrown;
      log.warn({ object, reason, note, error: thrown.message }, 'an Event could not be written');
      return settled(thrown.message);
    }
  };
}

async function createOrCount(kube: KubePort, event: KubeObject, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await kube.create(events, event, signal);
      return;
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    }
    try {
      await count(kube, event, signal);
      return;
    } catch (thrown) {
      // It expired, or another writer counted it, in between.
      if (tries >= triesMax || !hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT')) throw thrown;
    }
  }
}

async function count(kube: KubePort, event: KubeObject, signal: AbortSignal): Promise<void> {
  const { name, namespace = 'default', annotations = {} } = event.metadata;
  const { metadata, series } = await kube.get(events, namespace, name, signal);
  if (metadata.annotations?.[effectAnnotation] === annotations[effectAnnotation]) return;
  const { count: known = 1 } = (series ?? {}) as { readonly count?: number };
  const body = {
    metadata: { resourceVersion: metadata.resourceVersion, annotations },
    series: { count: known + 1, lastObservedTime: event.eventTime },
  };
  await kube.patch(events, { namespace, name, type: 'merge', body }, signal);
}

function settled(error: string | null) {
  return { type: 'effect.settled', effect: 'kube-event.write', error } as const;
}

function eventOf(effect: KubeEventWrite, key: string, replica: string): KubeObject {
  const { regarding, eventType, reason, note, at } = effect;
  // An Event about a cluster-scoped object is in this namespace.
  const namespace = regarding.namespace || 'default';
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: {
      name: nameOf(regarding.name, JSON.stringify([regarding, eventType, reason, note])),
      namespace,
      annotations: { [effectAnnotation]: shortHash(key) },
    },
    regarding: { ...regarding, namespace: regarding.namespace || undefined },
    type: eventType,
    reason: cut(reason, wordBytesMax),
    // The action; the actor's reason is all that is known.
    action: cut(reason, wordBytesMax),
    note: cut(note, noteBytesMax),
    eventTime: kubeMicroTime(at),
    reportingController: controller,
    reportingInstance: cut(replica, wordBytesMax),
  };
}

/** `<object>.<hash of the content>`: a legal name for any object. */
function nameOf(objectName: string, content: string): string {
  const readable = objectName
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .slice(0, nameCharsMax)
    .split('.')
    .map((label) => label.replace(/^-+|-+$/g, ''))
    .filter((label) => label !== '')
    .join('.');
  const hash = shortHash(content);
  return readable === '' ? hash : `${readable}.${hash}`;
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Cuts to this many bytes of UTF-8 without splitting a character. */
function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax - Buffer.byteLength('…');
  // Continuation bytes are 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString()}…`;
}
