/**
 * A Kubernetes API in memory that keeps Leases as the real one does: versions are preconditions, times must
 * be MicroTime. Every write is kept with its time; requests can be made to fail, to hang and to lose their
 * answers.
 */
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';
import { FakeKube } from '../../kube/fake-kube.ts';
import type { VirtualClock } from '../../virtual-clock.ts';

export interface LeaseWriteSeen {
  readonly at: number;
  readonly by: 'create' | 'replace' | 'other';
  readonly record: LeaseRecord | null;
}

/**
 * What happens to a request: it is done; it fails before that; it is done and its answer is lost; it hangs
 * and is never done.
 */
export type Fate = 'done' | 'fails' | 'unanswered' | 'hangs';

export class LeaseKube extends FakeKube {
  readonly writes: LeaseWriteSeen[] = [];
  fate: (call: 'get' | 'create' | 'replace', name: string) => Fate = () => 'done';
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    super();
    this.#clock = clock;
    const get = this.get;
    this.get = (resource, namespace, name, signal) =>
      this.#doing('get', name, signal, () => get(resource, namespace, name, signal));
    this.create = (resource, object, signal) =>
      this.#doing('create', object.metadata.name, signal, async () => {
        const { namespace = '', name } = object.metadata;
        if (this.all(resource).has(`${namespace}/${name}`)) throw conflict(name);
        return this.#store('create', object);
      });
    this.replace = (resource, object, signal) =>
      this.#doing('replace', object.metadata.name, signal, async () => {
        const { namespace = '', name, resourceVersion } = object.metadata;
        const before = this.all(resource).get(`${namespace}/${name}`);
        if (before === undefined) throw new OrreryError('KUBE_NOT_FOUND', `there is no ${name}`);
        if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
          throw conflict(name);
        return this.#store('replace', object);
      });
  }

  /** A write of another program, without preconditions. */
  set(name: string, record: Partial<LeaseRecord>, namespace = 'shop'): KubeObject {
    const before = this.record(name, namespace);
    const full = { ...emptyRecord, ...before, ...record };
    const spec = {
      holderIdentity: full.holder,
      leaseDurationSeconds: full.durationSeconds,
      acquireTime: full.acquireTime,
      renewTime: full.renewTime,
      leaseTransitions: full.transitions,
      ...(full.strategy === '' ? {} : { strategy: full.strategy }),
      ...(full.preferredHolder === '' ? {} : { preferredHolder: full.preferredHolder }),
    };
    this.writes.push({ at: this.#clock.now(), by: 'other', record: full });
    return this.put(leases, namespace, name, { spec });
  }

  record(name: string, namespace = 'shop'): LeaseRecord | null {
    const object = this.all(leases).get(`${namespace}/${name}`);
    return object === undefined ? null : leaseRecordOf(object);
  }

  /** Writes by candidates, not those of `set`. */
  get ours(): LeaseWriteSeen[] {
    return this.writes.filter(({ by }) => by !== 'other');
  }

  #store(by: 'create' | 'replace', object: KubeObject): KubeObject {
    const { namespace = '', name } = object.metadata;
    const { metadata: _, ...fields } = object;
    for (const field of ['acquireTime', 'renewTime']) {
      const time = (fields.spec as Record<string, unknown>)[field];
      if (typeof time !== 'string' || !/\.\d{6}Z$/.test(time))
        throw new OrreryError('KUBE_REFUSED', `${field} is no MicroTime: ${String(time)}`);
    }
    this.writes.push({ at: this.#clock.now(), by, record: leaseRecordOf(object) });
    return this.put(leases, namespace, name, fields);
  }

  async #doing<T>(
    call: 'get' | 'create' | 'replace',
    name: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const fate = this.fate(call, name);
    if (fate === 'fails') throw new OrreryError('KUBE_UNREACHABLE', 'the API server is away');
    if (fate === 'hangs') return aborted(signal);
    const answer = await work();
    if (fate === 'unanswered') return aborted(signal);
    return answer;
  }
}

const emptyRecord: LeaseRecord = {
  holder: '',
  durationSeconds: 15,
  acquireTime: '2020-01-01T00:00:00.000000Z',
  renewTime: '2020-01-01T00:00:00.000000Z',
  transitions: 0,
  strategy: '',
  preferredHolder: '',
};

function conflict(name: string): OrreryError {
  return new OrreryError('KUBE_CONFLICT', `the object ${name} has been modified`);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

export type LeasePort = Pick<KubePort, 'get' | 'create' | 'replace' | 'list' | 'watch'>;
