/**
 * Secrets of certificates on an API server: what is written, what is left alone, and what a second run
 * changes.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { createAuthorities } from '../../../src/features/certificates/effects/certificate-authorities.ts';
import {
  inspectCertificate,
  shortFingerprint,
} from '../../../src/features/certificates/effects/certificate-inspect.ts';
import { writePending } from '../../../src/features/certificates/effects/certificate-secrets.ts';
import { storeCertificate } from '../../../src/features/certificates/effects/certificate-store.ts';
import { readPublicPart } from '../../../src/features/certificates/stored-certificate.ts';
import type { CertificateStore } from '../../../src/machines/domain/domain-effects.ts';
import { fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun as context } from './certificate-samples.ts';
import { makeAuthority, type TestAuthority } from './test-authority.ts';

const host = 'app.example.com';
const target = { namespace: 'shop', secretName: 'app' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

let authority: TestAuthority;
let api: SecretApi;
beforeAll(async () => {
  authority = await makeAuthority('test');
});
beforeEach(() => {
  api = new SecretApi();
});

/** Secrets alone, with what server-side apply promises: versions, and fields of other owners. */
class SecretApi {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  /** Done between the look and the write. */
  meanwhile = () => {};
  /** Names of Secrets that a quota forbids. */
  readonly forbidden = new Set<string>();
  refuse(key: string): void {
    if (this.forbidden.has(key))
      throw new OrreryError('KUBE_REFUSED', `${key}: exceeded quota`, { facts: { status: 403 } });
  }
  #version = 0;
  readonly port: KubePort = fakePort({
    get: async (_, namespace, name) => this.#existing(`${namespace}/${name}`),
    create: async (_, object) => {
      this.meanwhile();
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      this.refuse(key);
      if (this.objects.has(key)) throw new OrreryError('KUBE_CONFLICT', 'it exists');
      this.writes.push(key);
      return this.put(object);
    },
    delete: async (_, namespace, name) => void this.objects.delete(`${namespace}/${name}`),
    patch: async (_, { namespace, name, body, force }) => {
      this.meanwhile();
      const key = `${namespace}/${name}`;
      this.refuse(key);
      const before = this.objects.get(key);
      const { metadata } = body as KubeObject;
      const isOlder =
        metadata.resourceVersion !== undefined &&
        metadata.resourceVersion !== before?.metadata.resourceVersion;
      if (isOlder || (before !== undefined && force !== true))
        throw new OrreryError('KUBE_CONFLICT', 'it changed');
      this.writes.push(key);
      return this.put(body as KubeObject);
    },
  });

  put(object: KubeObject): KubeObject {
    const { namespace, name } = object.metadata;
    const metadata = { ...object.metadata, uid: `${name}-uid`, resourceVersion: `${++this.#version}` };
    const stored = { ...object, metadata };
    this.objects.set(`${namespace}/${name}`, stored);
    return stored;
  }

  #existing(key: string): KubeObject {
    const found = this.objects.get(key);
    if (!found) throw new OrreryError('KUBE_NOT_FOUND', key);
    return found;
  }
}

function effect(change: Partial<CertificateStore> = {}): CertificateStore {
  return {
    type: 'certificate.store',
    host,
    issuer: 'ca',
    attempt: 3,
    from: 'pending',
    targets: [target],
    at: target,
    ...change,
  };
}

function run(change: Partial<CertificateStore> = {}, key: string = context.key) {
  const clock = new VirtualClock(authorityTime());
  const spec = {
    domains: ['**'],
    acme: null,
    budget: null,
    ca: { secret: { namespace: 'shop', name: 'ca' }, lifetimeMs: 86_400_000 },
  };
  const issuerOf = () => ({ uid: 'u', version: 'v', spec });
  const authorities = createAuthorities({ kube: api.port, clock, issuerOf });
  return storeCertificate({ kube: api.port, clock, authorities })(effect(change), { ...context, key });
}

/** The test's authority is valid now, by the machine's clock. */
const authorityTime = () => systemClock.now();

async function pend(): Promise<string> {
  const { chain, key } = await authority.issue(host);
  const place = { host, at: target, source: null };
  await writePending(api.port, place, { order: 'https://ca/order/1', key, chain }, context.signal);
  return shortFingerprint(readPublicPart(chain));
}

const secret = (fields: object): KubeObject => ({
  metadata: { name: 'app', namespace: 'shop' },
  type: 'kubernetes.io/tls',
  ...fields,
});
const theirs = secret({ data: { 'tls.crt': base64('theirs'), 'tls.key': base64('theirs') } });

test('what was issued is stored with label and annotation, and its waiting place is cleared', async () => {
  await pend();
  expect(await run()).toMatchObject({ type: 'certificate.stored', attempt: 3, foreign: [] });
  expect(api.objects.get('shop/app')).toMatchObject({
    type: 'kubernetes.io/tls',
    metadata: { labels: { 'orrery.dev/domain': host }, annotations: { 'orrery.dev/host': host } },
  });
  expect([...api.objects.keys()]).toEqual(['shop/app']);
});

test('running it again changes nothing and tells the same (I5)', async () => {
  const fingerprint = await pend();
  const first = await run({ fingerprint });
  const written = api.writes.length;
  expect(await run({ fingerprint })).toEqual(first);
  expect(api.writes).toHaveLength(written);
});

test('a CA signs once for one effect, however often it runs', async () => {
  api.put({
    metadata: { name: 'ca', namespace: 'shop' },
    data: { 'tls.crt': base64(authority.pem), 'tls.key': base64(authority.keyPem) },
  });
  const first = await run({ from: 'ca' });
  expect(first).toMatchObject({ type: 'certificate.stored' });
  expect(await run({ from: 'ca' })).toEqual(first);
  const next = await run({ from: 'ca' }, 'domain/_/app.example.com/9/0');
  expect(next).not.toEqual(first);
});

describe('a Secret of somebody else', () => {
  test('is left alone', async () => {
    await pend();
    api.put(theirs);
    expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'foreign' });
    expect(api.objects.get('shop/app')).toMatchObject({ data: { 'tls.crt': base64('theirs') } });
  });

  test('is left alone if it comes into being between the look and the write', async () => {
    await pend();
    api.meanwhile = () => void api.put(theirs);
    expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'foreign' });
    expect(api.objects.get('shop/app')).toMatchObject({ data: { 'tls.crt': base64('theirs') } });
  });

  test('does not keep others from their certificate', async () => {
    await pend();
    api.put(theirs);
    const other = { namespace: 'web', secretName: 'app' };
    expect(await run({ targets: [target, other] })).toMatchObject({
      type: 'certificate.stored',
      foreign: [target],
    });
    expect(api.objects.has('web/app')).toBe(true);
  });

  test('in the waiting place ends the attempt with a reason', async () => {
    api.put({ metadata: { name: 'app-next', namespace: 'shop' }, data: {} });
    expect(await run()).toMatchObject({
      type: 'acquisition.failed',
      message: expect.stringContaining('not overwritten'),
    });
  });
});

test('ours that changed between the look and the write is not overwritten blindly: the step is tried again', async () => {
  await pend();
  await run();
  await pend();
  api.meanwhile = () => {
    api.meanwhile = () => {};
    const object = api.objects.get('shop/app');
    if (object) api.put(object);
  };
  expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'cluster' });
});

describe('a look', () => {
  const look = (targets = [target]) =>
    inspectCertificate(api.port)(
      { type: 'certificate.inspect', host, attempt: 1, targets, at: target },
      context,
    );

  test('finds nothing, then what waits, then what is stored', async () => {
    expect(await look()).toMatchObject({ good: null, missing: [target], pending: null });
    await pend();
    expect(await look()).toMatchObject({ good: null, pending: { at: target } });
    await run();
    expect(await look()).toMatchObject({ good: { ariId: expect.any(String) }, missing: [], pending: null });
  });

  test('does not take for good what is for another host, or whose key is another', async () => {
    const other = await authority.issue('other.example.com');
    const metadata = {
      name: 'app',
      namespace: 'shop',
      labels: { 'orrery.dev/domain': host },
      annotations: { 'orrery.dev/host': host },
    };
    api.put({
      metadata,
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(other.chain), 'tls.key': base64(other.key) },
    });
    expect(await look()).toMatchObject({ good: null, missing: [target], foreign: [] });
  });

  test('tells which of several Secrets lack the certificate', async () => {
    await pend();
    await run();
    const lacking = { namespace: 'web', secretName: 'app' };
    expect(await look([target, lacking])).toMatchObject({ good: {}, missing: [lacking] });
  });
});

describe('§3.3: a Secret of another host', () => {
  const metadata = {
    name: 'app',
    namespace: 'shop',
    labels: { 'orrery.dev/domain': 'other.example.com' },
    annotations: { 'orrery.dev/host': 'other.example.com' },
  };
  const held = async () => {
    const other = await authority.issue('other.example.com');
    const data = { 'tls.crt': base64(other.chain), 'tls.key': base64(other.key) };
    api.put({ metadata, type: 'kubernetes.io/tls', data });
    return data;
  };

  test('is left untouched, and the message says whose it is', async () => {
    const data = await held();
    await pend();
    const message = expect.stringContaining('other.example.com');
    expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'foreign', message });
    expect(api.objects.get('shop/app')).toMatchObject({ data });
  });

  test('for which nothing asks there any more is replaced', async () => {
    await held();
    const mine = { ...target, former: 'other.example.com' };
    await pend();
    const others = { ...target, former: 'third.example.com' };
    expect(await run({ targets: [others] })).toMatchObject({ outcome: 'foreign' });
    expect(await run({ targets: [mine] })).toMatchObject({ type: 'certificate.stored', foreign: [] });
    expect(api.objects.get('shop/app')?.metadata.annotations).toMatchObject({ 'orrery.dev/host': host });
  });

  test('that comes into being at the same moment has it', async () => {
    await pend();
    api.meanwhile = () => {
      api.meanwhile = () => {};
      api.put(secret({ metadata }));
    };
    expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'foreign' });
    expect(api.writes.filter((name) => name === 'shop/app')).toEqual([]);
  });
});

describe('§3.4: a target that refuses', () => {
  const second = { namespace: 'shop', secretName: 'second' };

  test('stops no other, and is named', async () => {
    await pend();
    api.forbidden.add('shop/app');
    expect(await run({ targets: [target, second] })).toMatchObject({
      type: 'certificate.stored',
      foreign: [],
      refused: [{ ...target, message: expect.stringContaining('quota') }],
    });
    expect(api.objects.has('shop/second')).toBe(true);
  });

  test('alone does not count against the host; what was issued waits on, what a CA signed is told', async () => {
    await pend();
    api.forbidden.add('shop/app');
    expect(await run()).toMatchObject({ type: 'acquisition.failed', outcome: 'unwritable' });
    expect(api.objects.has('shop/app-next')).toBe(true);
    api.put({
      metadata: { name: 'ca', namespace: 'shop' },
      data: { 'tls.crt': base64(authority.pem), 'tls.key': base64(authority.keyPem) },
    });
    expect(await run({ from: 'ca' })).toMatchObject({ outcome: 'unwritable', issued: true });
  });
});

describe('§2.6: nothing is copied from a Secret whose fingerprint the record does not name', () => {
  const planted = { namespace: 'evil', secretName: 'app' };
  const plant = async (place = planted) => {
    const { chain, key } = await authority.issue(host);
    const metadata = {
      name: place.secretName,
      namespace: place.namespace,
      labels: { 'orrery.dev/domain': host },
      annotations: { 'orrery.dev/host': host, 'orrery.dev/order': context.key },
    };
    api.put({
      metadata,
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(chain), 'tls.key': base64(key) },
    });
    return shortFingerprint(readPublicPart(chain));
  };
  const look = (known: readonly string[], targets = [target, planted]) =>
    inspectCertificate(api.port)(
      { type: 'certificate.inspect', host, attempt: 1, targets, at: target, known, owner: 'shop' },
      context,
    );

  test('a newer pair in a namespace that it is shared with is overwritten, not taken over', async () => {
    const fingerprint = await pend();
    await run({ fingerprint });
    await plant();
    expect(await look([fingerprint])).toMatchObject({ good: { fingerprint }, missing: [planted] });
    const stored = await run({ from: 'stored', targets: [target, planted], fingerprint, owner: 'shop' });
    expect(stored).toMatchObject({ certificate: { fingerprint }, refused: [] });
    const held = (name: string) => JSON.stringify(api.objects.get(name)?.data);
    expect(held('evil/app')).toBe(held('shop/app'));
  });

  test('it is not adopted without a record either; what stands in the owner’s namespace is', async () => {
    await plant();
    expect(await look([])).toMatchObject({ good: null });
    const own = await plant(target);
    expect(await look([])).toMatchObject({ good: { fingerprint: own }, missing: [planted] });
  });

  test('where the named one is gone, one of several others is no source', async () => {
    await plant(target);
    expect(await look(['0123456789abcdef'])).toMatchObject({ good: null });
    expect(await look(['0123456789abcdef'], [target])).toMatchObject({ good: {}, missing: [] });
  });

  test('what waits in a namespace that it is shared with counts only if the record names it', async () => {
    const { chain, key } = await authority.issue(host);
    const beside = { host, at: planted, source: null };
    await writePending(api.port, beside, { order: 'o', key, chain }, context.signal);
    const wait = (known: readonly string[], owner = 'shop') =>
      inspectCertificate(api.port)(
        { type: 'certificate.inspect', host, attempt: 1, targets: [target], at: planted, known, owner },
        context,
      );
    expect(await wait([])).toMatchObject({ pending: null });
    expect(await wait([shortFingerprint(readPublicPart(chain))])).toMatchObject({ pending: { at: planted } });
    expect(await wait([], 'evil')).toMatchObject({ pending: { at: planted } });
  });

  test('a CA signs though a planted pair names this very run', async () => {
    api.put({
      metadata: { name: 'ca', namespace: 'shop' },
      data: { 'tls.crt': base64(authority.pem), 'tls.key': base64(authority.keyPem) },
    });
    const own = await plant();
    const stored = await run({ from: 'ca', targets: [target, planted], owner: 'shop' });
    expect(stored).toMatchObject({ type: 'certificate.stored' });
    expect(stored).not.toMatchObject({ certificate: { fingerprint: own } });
  });
});

test('§3.7: the pending key is owned by the object that asked', async () => {
  const { chain, key } = await authority.issue(host);
  const source = { kind: 'Ingress', namespace: 'shop', name: 'front', uid: 'u-1', generation: 1 } as const;
  await writePending(api.port, { host, at: target, source }, { order: 'o', key, chain }, context.signal);
  expect(api.objects.get('shop/app-next')?.metadata).toMatchObject({
    ownerReferences: [{ apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'front', uid: 'u-1' }],
  });
});
