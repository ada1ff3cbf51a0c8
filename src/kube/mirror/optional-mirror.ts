/**
 * Mirrors a kind that may not exist in the cluster (yet): a custom resource whose definition is not
 * installed.
 *
 * Looks the kind up by discovery, repeatedly until it exists; meanwhile it mirrors "no objects", so that its
 * users know the picture to be complete. Otherwise it keeps the promises of `mirror.ts`. Known limit: a kind
 * that is named in two versions has two mirrors, which write the same digests in turn.
 */
import type { NamedKind } from '../../actors/world/watch-declaration.ts';
import { createRepeats, type Repeats } from '../../base/back-off.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { asError, hasCode, invariant, OrreryError } from '../../base/errors.ts';
import type { KubePort, KubeResource } from '../../base/kube-port.ts';
import { jittered } from '../../base/random.ts';
import { abortedError } from '../api/deadline.ts';
import { createMirror, idle, type Mirror, type MirrorParts } from './mirror.ts';

export interface OptionalMirrorParts extends Omit<MirrorParts, 'resource'> {
  readonly named: NamedKind;
}

/**
 * Interval of looking for a missing kind (± 20 %): somebody may just have installed it, and waits for the
 * effect.
 */
const lookAgainMs = 10_000;
/** Discovery failed: retried soon, because everything that depends on the kind waits. */
const askAgainMs = 1_000;

export function createOptionalMirror(parts: OptionalMirrorParts): Mirror {
  const { clock, random } = parts;
  const name = parts.watch.mirror;
  const unknown = createRepeats(clock);
  const warnOfUnread = createUnreadWarning(parts);
  let current: Mirror | undefined;
  let reign: { readonly fence: number; readonly stopping: AbortController } | undefined;

  const forms = createForms({
    ...parts,
    onLost(error) {
      stop();
      parts.onLost(error);
    },
  });
  /** Runs until the kind is found; calls back for each form in which it is mirrored. */
  const follow = async (fence: number, signal: AbortSignal, onBegun: () => void): Promise<void> => {
    for (;;) {
      const resource = await lookUp(parts, unknown, signal);
      signal.throwIfAborted();
      const next = resource === undefined ? current : forms.of(resource);
      if (next !== current) {
        current?.stop();
        current = next;
        await next?.start(fence);
        onBegun();
      }
      if (resource !== undefined && resource.plural !== '') return;
      // Nobody's start waits for this.
      if (resource !== undefined) await warnOfUnread(signal);
      await sleep(clock, jittered(resource === undefined ? askAgainMs : lookAgainMs, 0.2, random), signal);
    }
  };
  const stop = () => {
    reign?.stopping.abort(new OrreryError('NOT_OWNER', `the mirror of ${name} was stopped`));
    reign = undefined;
    current?.stop();
    current = undefined;
  };

  return {
    name,
    start(fence) {
      invariant(reign === undefined, 'a mirror is started once at a time', { name });
      const stopping = new AbortController();
      reign = { fence, stopping };
      return new Promise((resolve, reject) => {
        // Once started, the end is reported by onLost, or known to the caller of stop.
        follow(fence, stopping.signal, resolve).catch(reject);
      });
    },
    stop,
    async retire(fence) {
      stop();
      for (const mirror of forms.all()) await mirror.retire(fence);
      parts.metrics.forget?.(name);
    },
    status: () => current?.status() ?? { ...idle, fence: reign?.fence ?? 0 },
  };
}

/**
 * A mirror listens to the world for as long as it exists: there is one for each form that the kind has had.
 */
function createForms(parts: OptionalMirrorParts) {
  const { kube, clock } = parts;
  const mirrors = new Map<string, Mirror>();
  return {
    all: () => mirrors.values(),
    of(resource: KubeResource): Mirror {
      const form = `${resource.plural}/${resource.namespaced}`;
      const known = mirrors.get(form);
      if (known !== undefined) return known;
      const asked = resource.plural === '' ? withoutObjects(kube, clock) : kube;
      const made = createMirror({ ...parts, resource, kube: asked });
      mirrors.set(form, made);
      return made;
    },
  };
}

/** undefined: discovery failed. */
async function lookUp(
  { kube, named, watch, log }: OptionalMirrorParts,
  unknown: Repeats,
  signal: AbortSignal,
): Promise<KubeResource | undefined> {
  try {
    return await kube.resolve(named.apiVersion, named.kind, signal);
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return absent(named);
    const facts = { resource: watch.mirror, error: asError(thrown).message };
    if (unknown.isDue()) log.info(facts, 'whether the kind exists is not known');
    return undefined;
  }
}

/** Warns in the log, once, of a kind in a version that is not read: it looks as if there were no objects. */
function createUnreadWarning(parts: OptionalMirrorParts) {
  let warnedOf: string | null = null;
  return async (signal: AbortSignal): Promise<void> => {
    const found = await unreadVersion(parts, signal);
    if (found !== null && found !== warnedOf) {
      const facts = { resource: parts.watch.mirror, served: found, read: parts.named.apiVersion };
      parts.log.warn(
        facts,
        'the cluster has the kind only in a version that is not read: its objects are ignored',
      );
    }
    warnedOf = found;
  };
}

/** The version in which the cluster has the kind, of those that are not read; null: none, or not known. */
async function unreadVersion(
  { kube, named: { kind, unread = [] } }: OptionalMirrorParts,
  signal: AbortSignal,
): Promise<string | null> {
  for (const apiVersion of unread) {
    const resource = await kube.resolve(apiVersion, kind, signal).catch(() => null);
    if (resource !== null) return apiVersion;
  }
  return null;
}

function absent({ apiVersion, kind }: NamedKind): KubeResource {
  const slash = apiVersion.lastIndexOf('/');
  return {
    group: apiVersion.slice(0, Math.max(slash, 0)),
    version: apiVersion.slice(slash + 1),
    plural: '',
    kind,
    namespaced: false,
  };
}

/** A missing kind has no objects and no events; nobody is waited for. */
function withoutObjects(kube: KubePort, clock: Clock): KubePort {
  return {
    ...kube,
    list: async () => ({ resourceVersion: '0', continue: '', items: [] }),
    async watch(_resource, { timeoutSeconds, onOpen }, _onEvent, signal) {
      onOpen?.();
      await sleep(clock, timeoutSeconds * 1000, signal).catch(() => {
        throw abortedError('waiting for the kind', signal);
      });
    },
  };
}
