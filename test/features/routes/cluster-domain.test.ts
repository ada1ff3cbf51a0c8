/** The domain of the cluster, from resolver configurations as they are found. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { createClusterDomain, parseClusterDomain } from '../../../src/features/routes/cluster-domain.ts';
import { VirtualClock } from '../../virtual-clock.ts';

test.each([
  ['search shop.svc.k8s.example svc.k8s.example k8s.example', 'k8s.example'],
  ['search shop.svc.cluster.local svc.cluster.local cluster.local host.example', 'cluster.local'],
  ['nameserver 10.0.0.10\nsearch shop.svc.a.b svc.a.b a.b\noptions ndots:5', 'a.b'],
  ['search SHOP.SVC.A.B. Svc.a.b. a.B.', 'a.b'],
  ['search\tshop.svc.a.b  svc.a.b\ta.b', 'a.b'],
  ['search shop.svc.a.b svc.a.b a.b # and more', 'a.b'],
  // The last one holds.
  ['search x y z\nsearch shop.svc.a.b svc.a.b a.b', 'a.b'],
  ['search shop.svc.a.b svc.a.b a.b\nsearch x.example', 'cluster.local'],
  ['search svc.a.b shop.svc.a.b a.b', 'cluster.local'],
  ['search shop.svc.a.b svc.a.b', 'cluster.local'],
  ['search shop.svc.a.b svc.a.b c.d', 'cluster.local'],
  ['search shop.svc.a.b svc.c.d c.d', 'cluster.local'],
  ['search other.svc.a.b svc.a.b a.b', 'cluster.local'],
  ['search shop.x.svc.a.b svc.a.b a.b', 'cluster.local'],
  ['search example.com', 'cluster.local'],
  ['#search shop.svc.a.b svc.a.b a.b', 'cluster.local'],
  ['search', 'cluster.local'],
  ['', 'cluster.local'],
])('%j is %s', (text, domain) => {
  expect(parseClusterDomain(text, 'shop')).toBe(domain);
});

test('where the own namespace is not known, any one counts', () => {
  expect(parseClusterDomain('search other.svc.a.b svc.a.b a.b')).toBe('a.b');
  expect(parseClusterDomain('search a.b.svc.a.b svc.a.b a.b')).toBe('cluster.local');
});

test('the file is read again when it has changed, and a file that is gone leaves what was known', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-resolv-'));
  const path = join(folder, 'resolv.conf');
  const clock = new VirtualClock();
  const domain = createClusterDomain({ clock, log: silentLog, path });
  expect(domain.current()).toBe('cluster.local');
  writeFileSync(path, 'search shop.svc.a.b svc.a.b a.b\n');
  await clock.advance(10_000);
  expect(domain.current()).toBe('a.b');
  writeFileSync(path, 'search shop.svc.longer.example svc.longer.example longer.example\n');
  expect(domain.current()).toBe('a.b');
  await clock.advance(10_000);
  expect(domain.current()).toBe('longer.example');
  rmSync(folder, { recursive: true });
  await clock.advance(10_000);
  expect(domain.current()).toBe('longer.example');
});
