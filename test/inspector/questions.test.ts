/**
 * What somebody asks who was paged, and who gives the answer: the page, the command line and Kubernetes, on
 * one development cluster in which a Pod is held back because the routing never learns of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import type { DevPart } from '../../packages/dev-cluster/parts.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { pods } from '../../packages/dev-cluster/resources.ts';
import { startElectionScenario } from '../../packages/dev-cluster/scenarios/election-scenario.ts';
import { type Scenario, startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { orrery } from '../cli/command.ts';
import { until } from '../until.ts';
import { hasBrowser, launch, openTab, picture } from './browser.ts';

const basics = { clock, random: systemRandom, log: silentLog };
const timeoutMs = 30_000;
const held = 'pod/shop/web-0';
const ask = test.skipIf(!hasBrowser);

const dir = mkdtempSync(join(tmpdir(), 'orrery-questions-'));
const subjects = subjectsOf('dev');
let [cluster, scenario, tills]: [DevCluster?, Scenario?, DevPart?] = [];
let bus: Bus | undefined;
let browser: Browser | undefined;
let page: Page;
let base = '';

beforeAll(async () => {
  if (!hasBrowser) return;
  const { signal } = new AbortController();
  const http = { host: '127.0.0.1', port: 0 };
  const replicaFlags = () => ['--inspector-auth', 'none'];
  const wanted = { ...basics, dir, replicas: 2, http, restarts: true, replicaFlags, print() {} };
  cluster = await startDevCluster(wanted, signal);
  const { kube, natsUrl, routing, replicas } = cluster;
  bus = await connectNats({ ...basics, servers: [natsUrl], name: 'test', cluster: 'dev' });
  // The routing learns of no Pod while this runs.
  scenario = startScenario({ ...basics, kube, routing, print() {}, routingDelay: '30m', replicas: 1 });
  tills = startElectionScenario({ ...basics, kube, bus, subjects, print() {}, changeEveryMs: 3_600_000 });
  for (const replica of replicas) await untilReady(replica, clock, signal);
  base = replicas[0]?.url ?? '';
  browser = await launch();
  ({ page } = await openTab(browser, base));
  await page.getByRole('link', { name: /^pod 1$/ }).waitFor({ timeout: timeoutMs });
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await scenario?.stop();
  await tills?.stop();
  await bus?.close();
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
}, 60_000);

const cli = async (...args: string[]): Promise<string> => {
  const { out, err, code } = await orrery([...args, '--nats', cluster?.natsUrl ?? '', '--cluster', 'dev'], {
    cwd: dir,
  });
  expect([args, err, code]).toEqual([args, '', 0]);
  return out;
};
const text = (part: string) => page.locator(part).first().textContent();
const open = (hash: string) => page.goto(`${base}/${hash}`);

ask('why is the Pod not ready, and what happens next, and when?', async () => {
  await open('#/');
  await page.locator('.waits').getByRole('link', { name: 'web-0' }).click();
  await page.locator('.reason-card .reason').waitFor();
  const reason = (await text('.reason-card .reason')) ?? '';
  expect(reason).toMatch(/Service|cart/);
  expect(await text('.reason-card .since')).toMatch(/(waiting|wrong) for .+, since \d{4}-\d\d-\d\d \d\d:/);
  expect(await text('.reason-card .then')).toMatch(/^Next: .+(in|due)/);
  // Before the chart, which comes before what happened.
  const top = async (part: string) => (await page.locator(part).boundingBox())?.y ?? -1;
  expect(await top('.reason-card')).toBeLessThan(await top('.chart-panel'));
  expect(await top('.chart-panel')).toBeLessThan(await top('.time-line'));
  expect(await cli('explain', held)).toMatch(/Service|cart/);
  const told = async () => {
    const pod = await cluster?.kube.get(pods, 'shop', 'web-0', AbortSignal.timeout(5_000));
    const { conditions = [] } = (pod as unknown as { status: { conditions?: Array<Record<string, string>> } })
      .status;
    return conditions.find(({ type }) => type === 'orrery.dev/routes-verified')?.message ?? '';
  };
  await until(async () => (await told()).includes('cart'), { what: 'the condition to say it', timeoutMs });
});

ask('who leads, under which term, since when; and which replica owns it?', async () => {
  await open('#/election');
  const row = page.locator('.list-row').filter({ hasText: 'till' });
  await row
    .locator('.fact')
    .filter({ hasText: /^till-/ })
    .first()
    .waitFor();
  expect(await page.locator('.list-head').textContent()).toMatch(/Holder.*Term.*Since.*Reason/);
  expect(await row.locator('.owner').textContent()).toMatch(/orrery-[01]$/);
  await picture(page, 'list-election');
  const table = await cli('get', 'elections', '-o', 'wide');
  expect(table).toMatch(/HOLDER +TERM +SINCE/);
  expect(table).toMatch(/till-\S+ +1 .*orrery-[01]/);
});

ask('what happened in the last minutes, and how did it come to that?', async () => {
  await open('#/events?from=15m&kind=pod&utc=1');
  const row = page.locator('.event-row').filter({ hasText: 'proving' }).first();
  expect(await row.locator('.when').textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/);
  await row.locator('.when').click();
  await page.locator('.sequence li.shown').waitFor();
  expect(page.url()).toMatch(/step=pod%2Fshop%2Fweb-0%40\d+/);
  await picture(page, 'events-light');
  expect(await cli('events', '--since', '15m', '--kind', 'pod')).toMatch(
    /\d{4}-\d\d-\d\d .* pod\/shop\/web-0/,
  );
  await open('#/events?from=yesterday');
  await page.getByRole('alert').filter({ hasText: '“yesterday” is no time' }).waitFor();
});

ask('is anything stuck, and which dead letters are there?', async () => {
  await bus?.append(subjects.send(held), encodeJson({ type: 'pod.explode' }));
  await open('#/');
  await page.locator('.trouble-rows').getByText('MESSAGE_UNKNOWN_EVENT').waitFor();
  await open('#/pod?health=ok');
  await page.getByText('no actor is so').waitFor();
  expect(await cli('get', 'pods')).toMatch(/pod\/shop\/web-0 +(waiting|wrong)/);
  expect(await cli('dead')).toContain('pod.explode');
});

ask('an address that names no kind says so, and which there are', async () => {
  await open('#/bogus/shop/web-0');
  await page.getByRole('heading', { name: 'There is no kind “bogus”' }).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'domain', exact: true }).click();
  await page.getByRole('heading', { name: /^domain/ }).waitFor();
});

ask('is what I see still so? A replica that hangs keeps its connections', async () => {
  await open(`#/${held}`);
  await page.locator('.reason-card .reason').waitFor();
  await cluster?.kill(0, 'SIGSTOP');
  const silent = /no news since \d+s \(as of \d\d:\d\d:\d\d\)/;
  await page.getByRole('status').filter({ hasText: silent }).waitFor();
  await picture(page, 'no-news');
  await cluster?.kill(0, 'SIGCONT');
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
});
