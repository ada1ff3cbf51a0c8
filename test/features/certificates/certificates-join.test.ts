/** Who asks for which host, of which Issuer, into which Secrets. */
import { describe, expect, test } from 'vitest';
import { domainPart } from '../../../src/features/certificates/digest.ts';
import type { IssuerFacts } from '../../../src/machines/domain/domain-facts.ts';
import { base, Scene } from './join-scene.ts';

test('nothing is said until everything that may ask was listed once', () => {
  const scene = new Scene();
  scene.domain('shop', 'app', { host: 'app.example.com' });
  expect(scene.facts('app.example.com')).toBeUndefined();
  scene.listed();
  expect(scene.facts('app.example.com')).toMatchObject({
    targets: [{ namespace: 'shop', secretName: 'app' }],
  });
  expect(scene.facts('other.example.com')).toBeNull();
});

test('§1.5: two sources of one host are one actor with two Secrets; the oldest goes first; when both are gone it is told', () => {
  const scene = new Scene().listed();
  expect(scene.domain('shop', 'app', { host: 'app.example.com' }, { createdAt: 5 })).toEqual([
    'domain/_/app.example.com',
  ]);
  const serve = { hosts: ['app.example.com'], invalid: null };
  scene.put('services', 'shop', 'front', {
    kind: 'services',
    uid: 'u-svc',
    ...base,
    createdAt: 1,
    serve,
    ports: [],
    clusterIPs: [],
  });
  expect([...scene.join.members()]).toEqual(['domain/_/app.example.com']);
  expect(scene.facts('app.example.com')).toMatchObject({
    sources: [{ kind: 'Service' }, { kind: 'Domain' }],
    targets: [
      { namespace: 'shop', secretName: 'app.example.com' },
      { namespace: 'shop', secretName: 'app' },
    ],
  });
  scene.put('services', 'shop', 'front', null);
  expect(scene.facts('app.example.com')?.targets).toEqual([{ namespace: 'shop', secretName: 'app' }]);
  scene.domain('shop', 'app', { host: 'app.example.com' }, { deleting: true });
  expect(scene.facts('app.example.com')).toBeNull();
});

test('a Domain that changes its host concerns the old one and the new one', () => {
  const scene = new Scene().listed();
  scene.domain('shop', 'app', { host: 'a.example.com' });
  expect(scene.domain('shop', 'app', { host: 'b.example.com' })).toEqual([
    'domain/_/a.example.com',
    'domain/_/b.example.com',
  ]);
  expect(scene.facts('a.example.com')).toBeNull();
});

test('the Issuer: one that is named, else the oldest that allows the host; otherwise the reason', () => {
  const scene = new Scene().listed();
  scene.domain('shop', 'app', { host: 'app.example.com' });
  expect(scene.facts('app.example.com')?.issuerMissing).toContain('no Issuer allows');
  expect(scene.issuer('young', ['*.example.com'], { createdAt: 9 })).toContain('domain/_/app.example.com');
  scene.issuer('old', ['**'], { createdAt: 2 });
  scene.issuer('other', ['other.com'], { createdAt: 1 });
  expect(scene.facts('app.example.com')?.issuer?.name).toBe('old');
  scene.domain('shop', 'app', { host: 'app.example.com', issuer: 'young' });
  expect(scene.facts('app.example.com')?.issuer).toMatchObject({
    name: 'young',
    kind: 'acme',
    challenge: 'http01',
  });
  scene.domain('shop', 'app', { host: 'app.example.com', issuer: 'other' });
  expect(scene.facts('app.example.com')).toMatchObject({
    issuer: null,
    issuerMissing: expect.stringContaining('does not allow'),
  });
  scene.domain('shop', 'app', { host: 'app.example.com', issuer: 'none' });
  expect(scene.facts('app.example.com')?.issuerMissing).toBe('there is no Issuer none');
});

test('a Secret that changes concerns the hosts whose certificate is to stand there', () => {
  const scene = new Scene().listed();
  scene.domain('shop', 'app', { host: 'app.example.com', secretName: 'tls' });
  const secret = {
    kind: 'secrets',
    uid: 's',
    ...base,
    host: '',
    fingerprint: 'a'.repeat(64),
    hosts: [],
    notBefore: 0,
    notAfter: 0,
  };
  expect(scene.put('secrets', 'shop', 'tls', secret)).toEqual(['domain/_/app.example.com']);
  expect(scene.facts('app.example.com')?.stored).toEqual(['a'.repeat(16)]);
  expect(scene.put('secrets', 'shop', 'tls', null)).toEqual(['domain/_/app.example.com']);
  expect(scene.facts('app.example.com')?.stored).toEqual([null]);
  expect(scene.put('secrets', 'shop', 'unrelated', secret)).toEqual([]);
});

test.each([
  ['a.b.example.com', 'example.com'],
  ['*.example.co.uk', 'example.co.uk'],
  ['host.internal', 'host.internal'],
])('limits of %s are counted under %s', (host, registered) => {
  const scene = new Scene().listed();
  scene.domain('shop', 'app', { host });
  expect(scene.facts(host)?.registered).toBe(registered);
});

test('an Issuer hears of its own specification, and of its end', () => {
  const scene = new Scene().listed();
  expect(scene.issuer('acme', ['**'])).toEqual(['issuer/_/acme']);
  const facts = () => scene.join.observe('issuer', '_', 'acme')?.facts as IssuerFacts | null;
  expect(facts()).toMatchObject({ uid: 'i-acme', generation: 1, kind: 'acme', invalid: null });
  expect(facts()?.server).toBe('https://ca');
  scene.issuer('acme', ['**'], { spec: { invalid: 'spec.domains: must not be empty' } });
  expect(facts()).toMatchObject({ invalid: 'spec.domains: must not be empty' });
  scene.put('issuers.orrery.dev', '', 'acme', null);
  expect(facts()).toBeNull();
});

describe('§2: two namespaces ask for one host', () => {
  const contested = () => {
    const scene = new Scene().listed();
    scene.issuer('any', ['**']);
    scene.domain('bank', 'app', { host: 'app.example.com', issuer: 'any' }, { createdAt: 5 });
    scene.domain('evil', 'app', { host: 'app.example.com', issuer: 'none' }, { createdAt: 9 });
    return scene;
  };

  test('2.1, 2.4: the oldest object’s has it, and chooses the Issuer; the other is refused', () => {
    const scene = contested();
    expect(scene.facts('app.example.com')).toMatchObject({
      owner: 'bank',
      sources: [{ namespace: 'bank' }],
      refused: [{ namespace: 'evil' }],
      targets: [{ namespace: 'bank', secretName: 'app' }],
      issuer: { name: 'any' },
    });
    expect(scene.rivals('app.example.com')).toMatchObject([{ owner: 'evil', issuer: null }]);
  });

  test('2.3: the owner may share; the grant goes as it came', () => {
    const scene = contested();
    const spec = { host: 'app.example.com', issuer: 'any' };
    scene.domain('bank', 'app', { ...spec, sharedWith: ['evil'] }, { createdAt: 5 });
    expect(scene.facts('app.example.com')).toMatchObject({
      owner: 'bank',
      refused: [],
      targets: [{ namespace: 'bank' }, { namespace: 'evil' }],
      issuer: { name: 'any' },
    });
    scene.domain('bank', 'app', spec, { createdAt: 5 });
    expect(scene.facts('app.example.com')?.targets).toHaveLength(1);
  });

  test('2.2: who shares what is not his shares nothing', () => {
    const scene = contested();
    const spec = { host: 'app.example.com', issuer: 'none', sharedWith: ['bank', 'other'] };
    scene.domain('evil', 'app', spec, { createdAt: 9 });
    scene.domain('other', 'app', { host: 'app.example.com' }, { createdAt: 7 });
    expect(scene.facts('app.example.com')?.refused).toHaveLength(2);
  });

  test('one host in any spelling is one actor and one owner; a wildcard above it is another host', () => {
    const scene = contested();
    const spelled = (name: string, host: string) => {
      const { spec } = domainPart({ metadata: { name, namespace: 'evil' }, spec: { host } });
      return scene.domain('evil', name, spec, { createdAt: 8 });
    };
    expect(spelled('shouted', 'APP.Example.com.')).toEqual(['domain/_/app.example.com']);
    expect(spelled('wide', 'ＡＰＰ．ｅｘａｍｐｌｅ．ｃｏｍ')).toEqual(['domain/_/app.example.com']);
    expect(spelled('above', '*.EXAMPLE.com.')).toEqual(['domain/_/*.example.com']);
    expect(scene.facts('app.example.com')).toMatchObject({ owner: 'bank', targets: [{ namespace: 'bank' }] });
    expect(scene.facts('app.example.com')?.refused).toHaveLength(3);
    expect(scene.facts('*.example.com')?.owner).toBe('evil');
  });

  test('2.7: one that is made anew asks later than those who asked meanwhile, unless something of its namespace stayed', () => {
    const scene = contested();
    const spec = { host: 'app.example.com', issuer: 'any' };
    scene.put('domains.orrery.dev', 'bank', 'app', null);
    scene.domain('bank', 'app', spec, { createdAt: 20 });
    expect(scene.facts('app.example.com')?.owner).toBe('evil');
    scene.domain('bank', 'front', spec, { createdAt: 5 });
    scene.domain('bank', 'app', spec, { createdAt: 30 });
    expect(scene.facts('app.example.com')?.owner).toBe('bank');
  });

  test('a crowd with whom it is shared leaves the owner its Secret, and the record its size', () => {
    const scene = contested();
    const spec = { host: 'app.example.com', issuer: 'any', sharedWith: ['evil'] };
    scene.domain('bank', 'app', spec, { createdAt: 5 });
    for (let n = 0; n < 2_000; n++)
      scene.domain('evil', `app-${n}`, { host: 'app.example.com' }, { createdAt: 1 });
    const facts = scene.facts('app.example.com');
    expect(facts?.owner).toBe('evil');
    const asOwned = scene.rivals('app.example.com').find(({ owner }) => owner === 'bank');
    expect(asOwned?.targets[0]).toEqual({ namespace: 'bank', secretName: 'app' });
    expect(asOwned?.sources[0]).toMatchObject({ namespace: 'bank' });
    for (const one of [facts, asOwned]) expect(JSON.stringify(one).length).toBeLessThan(64 * 1024);
  });

  test('a crowd of namespaces leaves the one that has the certificate its claim, and the record its size', () => {
    const scene = contested();
    for (let n = 0; n < 400; n++)
      scene.domain(`evil-${n}`, 'app', { host: 'app.example.com' }, { createdAt: 1 });
    scene.put('secrets', 'bank', 'app', secretOf('app.example.com'));
    expect(scene.facts('app.example.com')?.owner).toMatch(/^evil/);
    expect(scene.rivals('app.example.com')[0]?.owner).toBe('bank');
    const observation = scene.join.observe('domain', '_', 'app.example.com');
    expect(JSON.stringify(observation).length).toBeLessThan(160 * 1024);
  });

  test('nor do the large claims of others with a certificate keep out a small one without', () => {
    const scene = contested();
    const name = (n: number) => `${n}-`.padEnd(120, 'x');
    for (const namespace of ['evil-1', 'evil-2']) {
      for (let n = 0; n < 160; n++)
        scene.domain(namespace, name(n), { host: 'app.example.com', secretName: 'app' }, { createdAt: 1 });
      scene.put('secrets', namespace, 'app', secretOf('app.example.com'));
    }
    scene.domain('eve', 'app', { host: 'app.example.com' }, { createdAt: 0 });
    const rivals = scene.rivals('app.example.com');
    expect(rivals.map(({ owner }) => owner)).toEqual(['evil-1', 'evil', 'bank']);
    expect(JSON.stringify(rivals[0]).length).toBeGreaterThan(48 * 1024);
  });
});

/** One that holds a certificate for the host. */
const secretOf = (host: string) => {
  const certificate = { fingerprint: 'f'.repeat(64), hosts: [host], notBefore: 0, notAfter: 9 };
  return { kind: 'secrets', uid: 's', ...base, host, ...certificate };
};

const allowedNamespaces = { matchLabels: { certificates: 'public' } };
const spec = { domains: ['**'], acme: { challenge: 'http01' }, ca: null, budget: null, allowedNamespaces };

test('§2.5: nothing is said of a host before the Namespaces were listed, if an Issuer chooses among them', () => {
  const scene = new Scene().listed();
  scene.domain('shop', 'app', { host: 'app.example.com' });
  scene.issuer('any', ['**']);
  expect(scene.facts('app.example.com')?.issuer?.name).toBe('any');
  scene.issuer('public', [], { spec });
  expect(scene.facts('app.example.com')).toBeUndefined();
  scene.listed('v1/Namespace');
  expect(scene.facts('app.example.com')?.issuer?.name).toBe('any');
});

test('§1.7: in a namespace that is being deleted nothing asks any more; what others ask for is theirs', () => {
  const scene = new Scene().listed();
  scene.namespace('shop', {});
  scene.domain('shop', 'app', { host: 'app.example.com' });
  scene.domain('bank', 'app', { host: 'app.example.com' }, { createdAt: 1 });
  expect(scene.facts('app.example.com')?.owner).toBe('shop');
  expect(scene.namespace('shop', {}, true)).toEqual(['domain/_/app.example.com']);
  expect(scene.facts('app.example.com')).toMatchObject({ owner: 'bank', refused: [] });
  scene.domain('bank', 'app', { host: 'app.example.com' }, { deleting: true });
  expect(scene.facts('app.example.com')).toBeNull();
});

test('§2.5: an Issuer serves the Namespaces that it selects, by their labels as they are', () => {
  const scene = new Scene().listed('v1/Namespace');
  scene.issuer('public', [], { spec });
  scene.domain('shop', 'app', { host: 'app.example.com' });
  expect(scene.facts('app.example.com')).toMatchObject({
    issuer: null,
    issuerMissing: expect.stringContaining('allowedNamespaces'),
  });
  expect(scene.namespace('shop', { certificates: 'public' })).toEqual(['domain/_/app.example.com']);
  expect(scene.facts('app.example.com')?.issuer?.name).toBe('public');
  expect(scene.namespace('shop', { certificates: 'public' })).toEqual([]);
  scene.namespace('shop', {});
  expect(scene.facts('app.example.com')?.issuer).toBeNull();
});

describe('§3.3: two hosts, one Secret name', () => {
  /** The Secret has a certificate of this host. */
  const holds = (scene: Scene, host: string) => {
    const secret = { kind: 'secrets', uid: 's', ...base, host, fingerprint: 'f'.repeat(64), hosts: [] };
    scene.put('secrets', 'shop', 'tls', { ...secret, notBefore: 0, notAfter: 0 });
  };
  const two = () => {
    const scene = new Scene().listed();
    const tls = (host: string) => ({ host, secretName: 'tls' });
    scene.domain('shop', 'a', tls('a.example.com'), { createdAt: 1 });
    return { scene, concerned: scene.domain('shop', 'b', tls('b.example.com'), { createdAt: 2 }) };
  };

  test('the first has it, the second is told whose it is', () => {
    const { scene, concerned } = two();
    expect(concerned).toEqual(['domain/_/a.example.com', 'domain/_/b.example.com']);
    expect(scene.facts('a.example.com')).toMatchObject({ targets: [{ secretName: 'tls' }], taken: [] });
    expect(scene.facts('b.example.com')).toMatchObject({
      targets: [],
      taken: [{ namespace: 'shop', secretName: 'tls', by: 'a.example.com' }],
    });
  });

  test('who comes third, or goes again, concerns nobody else; the next in age hears when the first goes', () => {
    const { scene } = two();
    const third = { host: 'c.example.com', secretName: 'tls' };
    expect(scene.domain('shop', 'c', third, { createdAt: 3 })).toEqual(['domain/_/c.example.com']);
    expect(scene.facts('c.example.com')?.taken).toMatchObject([{ by: 'a.example.com' }]);
    expect(scene.put('domains.orrery.dev', 'shop', 'c', null)).toEqual(['domain/_/c.example.com']);
    expect(scene.put('domains.orrery.dev', 'shop', 'a', null)).toEqual([
      'domain/_/a.example.com',
      'domain/_/b.example.com',
    ]);
    expect(scene.facts('b.example.com')?.taken).toEqual([]);
  });

  test('an older one that comes later takes it, and all hear of it', () => {
    const { scene } = two();
    const older = { host: 'z.example.com', secretName: 'tls' };
    expect(scene.domain('shop', 'z', older, { createdAt: 0 })).toHaveLength(3);
    expect(scene.facts('a.example.com')?.taken).toMatchObject([{ by: 'z.example.com' }]);
    expect(scene.facts('b.example.com')?.taken).toMatchObject([{ by: 'z.example.com' }]);
  });

  test('a thousand that name one Secret cost no more than a thousand that name their own', () => {
    const scene = new Scene().listed();
    let told = 0;
    for (let n = 0; n < 1_000; n++) {
      const spec = { host: `h${n}.example.com`, secretName: 'tls' };
      told += scene.domain('shop', `d${n}`, spec, { createdAt: n }).length;
    }
    expect(told).toBeLessThanOrEqual(1_001);
  });

  test('a Domain that is edited to name another host has its Secret still, and replaces what it holds', () => {
    const scene = new Scene().listed();
    scene.domain('shop', 'app', { host: 'a.example.com', secretName: 'tls' }, { createdAt: 1 });
    holds(scene, 'a.example.com');
    scene.domain('shop', 'app', { host: 'b.example.com', secretName: 'tls' }, { createdAt: 1 });
    const place = { namespace: 'shop', secretName: 'tls' };
    expect(scene.facts('b.example.com')?.targets).toEqual([{ ...place, former: 'a.example.com' }]);
    holds(scene, 'b.example.com');
    expect(scene.facts('b.example.com')?.targets).toEqual([place]);
  });

  test('when nothing asks any more for the host that has it, the others hear of it, whoever asked first', () => {
    const { scene } = two();
    scene.domain('shop', 'c', { host: 'c.example.com', secretName: 'tls' }, { createdAt: 3 });
    holds(scene, 'c.example.com');
    expect(scene.facts('a.example.com')?.taken).toMatchObject([{ by: 'c.example.com' }]);
    expect(scene.put('domains.orrery.dev', 'shop', 'c', null)).toContain('domain/_/a.example.com');
    expect(scene.facts('a.example.com')?.targets).toMatchObject([{ former: 'c.example.com' }]);
  });

  test('whose certificate stands there has it, whoever asked first', () => {
    const { scene } = two();
    holds(scene, 'b.example.com');
    expect(scene.facts('b.example.com')?.targets).toHaveLength(1);
    expect(scene.facts('a.example.com')?.taken).toMatchObject([{ by: 'b.example.com' }]);
  });
});

test('what the status of an Issuer says concerns the Issuer alone', () => {
  const scene = new Scene().listed();
  scene.domain('shop', 'web', { host: 'a.example.com' });
  expect(scene.issuer('ours', ['example.com'])).toContain('domain/_/a.example.com');
  expect(scene.issuer('ours', ['example.com'], { said: 'x' })).toEqual(['issuer/_/ours']);
  expect(scene.issuer('ours', ['example.com'], { said: 'y', generation: 2 })).toContain(
    'domain/_/a.example.com',
  );
});
