/**
 * Effect `kube-event.write`: writes a Kubernetes Event for people to find with `kubectl describe`.
 *
 * The Event's name is made from the effect's key, so writing it again after a crash finds it there (I5). It
 * is tried once: an Event is for people, no chart depends on it.
 */
import { createHash } from 'node:crypto';
import type { EffectRunner } from '../../actors/effect-runner.ts';
import { hasCode } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import { kubeMicroTime } from '../../base/kube-time.ts';
import type { KubeEventWrite } from '../../machines/effects.ts';
import { events } from '../api/resources.ts';

const controller = 'orrery.dev/orrery';
/** events.k8s.io/v1: bytes of `note`, and of `reason`, `action` and `reportingInstance`. */
const noteBytesMax = 1024;
const wordBytesMax = 128;
/** A name of an object has at most 253 characters; 17 are the key's. */
const nameCharsMax = 236;

/**
 * Outcome effect.settled, with an error where the Event cannot be written. @throws what may pass: then the
 * host tells the actor
 *
 * @param parts.replica name of this replica: the Event's reportingInstance
 */
export function writeKubeEvent(
  kube: KubePort,
  { replica }: { readonly replica: string },
): EffectRunner<KubeEventWrite> {
  return async (effect, { key, signal }) => {
    try {
      await kube.create(events, eventOf(effect, key, replica), signal);
      return settled(null);
    } catch (thrown) {
      // Written by an earlier run of this very effect.
      if (hasCode(thrown, 'KUBE_CONFLICT')) return settled(null);
      // Its namespace is going or gone, or we may not write there.
      if (hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_REFUSED')) return settled(thrown.message);
      throw thrown;
    }
  };
}

function settled(error: string | null) {
  return { type: 'effect.settled', effect: 'kube-event.write', error } as const;
}

function eventOf(effect: KubeEventWrite, key: string, replica: string): KubeObject {
  const { regarding, eventType, reason, note, at } = effect;
  // An Event about an object without a namespace stands in this one.
  const namespace = regarding.namespace || 'default';
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: nameOf(regarding.name, key), namespace },
    regarding: { ...regarding, namespace: regarding.namespace || undefined },
    type: eventType,
    reason: cut(reason, wordBytesMax),
    // What was done; the actor's reason is all that there is to say.
    action: cut(reason, wordBytesMax),
    note: cut(note, noteBytesMax),
    eventTime: kubeMicroTime(at),
    reportingController: controller,
    reportingInstance: cut(replica, wordBytesMax),
  };
}

/** `<object>.<hash of the key>`: a legal name, whatever the object's is. */
function nameOf(objectName: string, key: string): string {
  const readable = objectName
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .slice(0, nameCharsMax)
    .split('.')
    .map((label) => label.replace(/^-+|-+$/g, ''))
    .filter((label) => label !== '')
    .join('.');
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return readable === '' ? hash : `${readable}.${hash}`;
}

/** At most so many bytes of UTF-8, no character cut in two. */
function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax - Buffer.byteLength('…');
  // Continuation bytes are 10xxxxxx.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString()}…`;
}
