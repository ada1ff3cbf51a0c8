/**
 * The ten questions of somebody who was paged, and who answers them: the page with two clicks at most, one
 * command, and kubectl where Kubernetes has a place for the answer; on one development cluster
 * (questions-scene.ts).
 */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { encodeJson } from '../../src/bus/codec.ts';
import { coreResource } from '../../src/kube/api/resources.ts';
import { inThisProcess } from '../cli/command.ts';
import { hasKubectl, kubectlEnvironment, runKubectl } from '../kubectl.ts';
import { until } from '../until.ts';
import { accessibilityFaults, hasBrowser, launch, openTab, picture } from './browser.ts';
import { type QuestionsScene, startQuestionsScene, subjects } from './questions-scene.ts';

const timeoutMs = 30_000;
const held = 'pod/shop/web-0';
const ask = test.skipIf(!hasBrowser);
// Commands, kubectl and a browser at once, on a machine that others use too.
vi.setConfig({ testTimeout: 120_000 });

let scene: QuestionsScene;
let browser: Browser | undefined;
let page: Page;

beforeAll(async () => {
  if (!hasBrowser) return;
  scene = await startQuestionsScene();
  browser = await launch();
  ({ page } = await openTab(browser, scene.base));
  await page.getByRole('link', { name: /^pod 3$/ }).waitFor({ timeout: timeoutMs });
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await scene?.stop();
});

const cli = async (...args: string[]): Promise<string> => {
  const { natsUrl } = scene.cluster;
  const place = ['--nats', natsUrl, '--cluster', 'dev'];
  const { out, err, code } = await inThisProcess([...args, ...place], {}, scene.dir);
  expect([args, err, code]).toEqual([args, '', 0]);
  return out;
};

/** null: there is no kubectl here, and nothing is asked of it. */
const kubectl = async (...args: string[]): Promise<string | null> => {
  if (!hasKubectl) return null;
  const env = kubectlEnvironment(join(scene.dir, 'home'), scene.cluster.kubeconfig);
  const { out, err, code } = await runKubectl(args, env);
  expect([args, err, code]).toEqual([args, '', 0]);
  return out;
};
const kubectlSays = async (pattern: RegExp, ...args: string[]) => {
  if (!hasKubectl) return;
  const isSaid = async () => {
    const said = (await kubectl(...args)) ?? '';
    if (pattern.test(said)) return true;
    throw new Error(said);
  };
  await until(isSaid, { what: `kubectl ${args.join(' ')} to say ${pattern}`, timeoutMs });
};

const text = (part: string) => page.locator(part).first().textContent();
const open = (hash: string) => page.goto(`${scene.base}/${hash}`);
const overview = async () => {
  await open('#/');
  await page.getByRole('heading', { name: 'Replicas and shards' }).waitFor();
};
/** One click. */
const kind = (name: string) =>
  page
    .getByRole('navigation', { name: 'Kinds of actors' })
    .getByRole('link', { name: new RegExp(`^${name} \\d+$`) })
    .click();
const rows = () => page.locator('.list-row .actor-link').allTextContents();
const names = async () => (await rows()).map((name) => name.trim());

ask('1, 10: why is the Pod not ready; what happens next, and when?', async () => {
  await overview();
  await page.locator('.waits, .trouble-rows').getByRole('link', { name: 'pod shop/web-0' }).click();
  await page.locator('.reason-card .reason').waitFor();
  expect(await text('.reason-card .reason')).toMatch(/5 of 5 Services have not reached this Pod: .*cart/);
  expect(await text('.reason-card .since')).toMatch(/(waiting|wrong) for .+, since \d{4}-\d\d-\d\d \d\d:/);
  expect(await text('.reason-card .then')).toMatch(/^Next: .+(in|due)/);
  // Before the chart, which comes before what happened.
  const top = async (part: string) => (await page.locator(part).boundingBox())?.y ?? -1;
  expect(await top('.reason-card')).toBeLessThan(await top('.chart-panel'));
  expect(await top('.chart-panel')).toBeLessThan(await top('.time-line'));
  const told = await cli('explain', held);
  expect(told).toMatch(/^pod\/shop\/web-0 (waiting|wrong): .*cart/);
  expect(told).toMatch(/^ {2}next: .+, (in \d+|due)/m);
  const message = '.status.conditions[?(@.type=="orrery.dev/routes-verified")].message';
  await kubectlSays(/cart/, 'get', 'pod', '-n', 'shop', 'web-0', '-o', `jsonpath={${message}}`);
});

ask('2: which certificates end within 30 days or fail, and why?', async () => {
  const ended = () => cli('get', 'domains', '--ending', '30d');
  await until(async () => /www\.shop\S+ +ok/.test(await ended()), { what: 'www', timeoutMs });
  const [head, first, second, ...more] = (await ended()).trim().split('\n');
  expect(head).toMatch(/^ID +HEALTH +STATE +SINCE +ISSUER +EXPIRES .*REASON$/);
  expect(first).toMatch(/^domain\/_\/login\.shop\.example\.com +wrong .*Secret shop\/login/);
  expect(second).toMatch(/^domain\/_\/www\.shop\.example\.com +ok .*in 2[34]h.*it expires \d{4}-/);
  expect(more).toEqual([]);
  await overview();
  await kind('domain');
  await page.getByLabel('Ends within').selectOption({ label: '30 days, or not ok' });
  await page.locator('.list-row').filter({ hasText: 'api.shop' }).waitFor({ state: 'detached' });
  expect(await names()).toEqual(['login.shop.example.com', 'www.shop.example.com']);
  expect(await text('.list-row .reason')).toContain('Secret shop/login');
  expect(page.url()).toMatch(/#\/domain\?ending=30d$/);
  await picture(page, 'list-domain');
  await kubectlSays(/login +login\S+ +\S+ +False/, 'get', 'domains', '-n', 'shop');
  await kubectlSays(/www +www\S+ +valid +True +\d{4}-\d\d-\d\dT/i, 'get', 'domains', '-n', 'shop');
});

ask('3, 4: who leads, since when, how many terms today; which replica owns it?', async () => {
  await overview();
  await kind('election');
  const row = page.locator('.list-row').filter({ hasText: 'till' });
  await row
    .locator('.fact')
    .filter({ hasText: /^till-/ })
    .first()
    .waitFor();
  expect(await text('.list-head')).toMatch(
    /Name.*Since.*Holder.*Term.*Leads since.*Terms today.*Next.*Owner/s,
  );
  expect(await row.locator('.owner').textContent()).toMatch(/orrery-[01]$/);
  await picture(page, 'list-election');
  const table = await cli('get', 'elections', '-o', 'wide');
  expect(table).toMatch(/HOLDER +TERM +LEADS SINCE +TERMS TODAY .*OWNER/);
  expect(table.match(/SINCE/g)).toHaveLength(2);
  expect(table).toMatch(/till-\S+ +\d+ +\S+ ago +\d+ .*orrery-[01]/);
  await kubectlSays(/^till +till-\S+ +\d+ +\d+[sm]/m, 'get', 'elections', '-n', 'shop');
});

ask('5: what happened at that time, and how did it come to that?', async () => {
  await open('#/events?from=15m&kind=pod&utc=1');
  const row = page.locator('.event-row').filter({ hasText: 'proving' }).first();
  expect(await row.locator('.when').textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/);
  await row.locator('.when').click();
  await page.locator('.sequence li.shown').waitFor();
  expect(page.url()).toMatch(/step=pod%2F(shop|bakery)%2Fweb-\d%40\d+/);
  await picture(page, 'events-light');
  const log = await cli('events', '--from', '15m', '--to', '1s', '--kind', 'pod', '--utc');
  expect(log).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC {2}pod\/shop\/web-0 /m);
  await open('#/events?from=yesterday');
  await page.getByRole('alert').filter({ hasText: '“yesterday” is not a time' }).waitFor();
  await kubectlSays(/Warning .*domain\/login/i, 'get', 'events', '-n', 'shop');
});

ask('6: which Service has most waiting Pods?', async () => {
  await overview();
  await kind('service');
  await page.getByRole('button', { name: 'Pods that wait' }).click();
  const first = page.locator('.list-row').first();
  await first.filter({ hasText: 'bread' }).waitFor();
  expect(await first.locator('.fact').first().textContent()).toBe('2');
  expect(await first.locator('.reason').textContent()).toMatch(/2 Pods wait .*: web-[01], web-[01]/);
  const [head, most, next] = (await cli('get', 'services', '--sort-by', '-pods-that-wait')).split('\n');
  expect(head).toContain('PODS THAT WAIT');
  expect(most).toMatch(/^service\/bakery\/bread\S* .* 2 Pods wait/);
  expect(next).toMatch(/^service\/shop\/\S+ .*one Pod waits/);
  // A Service has no status of ours; its RouteGate counts the Pods of its group.
  await kubectlSays(/bakery +shop +\S+ +2 +2 /, 'get', 'routegates', '-A');
});

ask('7: what did the last deploy change?', async () => {
  const release = 'release/_/platform';
  await until(async () => (await cli('get', 'releases')).includes('made ConfigMap'), {
    what: 'the first deploy',
    timeoutMs,
  });
  const byHand = { type: 'merge', body: { data: { release: 'by hand' } } } as const;
  await scene.cluster.kube.patch(
    coreResource('configmaps', 'ConfigMap'),
    { namespace: 'default', name: 'platform-settings', ...byHand },
    AbortSignal.timeout(30_000),
  );
  const mended = /changed ConfigMap default\/platform-settings/;
  await until(async () => mended.test(await cli('explain', release)), { what: 'the repair', timeoutMs });
  const told = await cli('explain', release);
  expect(told).toMatch(/Last change +\d+s ago/);
  expect(told).toMatch(/Changed +changed ConfigMap default\/platform-settings/);
  expect(told).toMatch(/data\.release: "?by hand"? → "?0\.1\.0"?/);
  await overview();
  await kind('release');
  await page.locator('.list-row').filter({ hasText: 'platform' }).getByRole('link').click();
  await page.locator('.facts').getByText(mended).waitFor();
  expect(await text('.details')).toMatch(/data\.release: "?by hand"? → "?0\.1\.0"?/);
  await kubectlSays(/\["ConfigMap default\/platform-settings"\]/, 'get', 'releases', '-o', 'wide');
});

ask('8: which dead letters, with what they say, and can I send them again?', async () => {
  await scene.bus.append(subjects.send(held), encodeJson({ type: 'pod.explode', why: 'a test' }));
  await overview();
  await page.locator('.trouble-rows').getByText('MESSAGE_UNKNOWN_EVENT').waitFor();
  await page.getByRole('link', { name: '1 dead letter' }).click();
  await page.getByText('What it says').click();
  expect(await text('.letters pre')).toContain('"why": "a test"');
  await page.getByRole('button', { name: /^Send again/ }).waitFor();
  const [, number = ''] = /^(\d+) .*MESSAGE_UNKNOWN_EVENT .*pod\.explode/m.exec(await cli('dead')) ?? [];
  expect(await cli('dead', 'show', number)).toContain('"why": "a test"');
});

ask('9: is anything stuck?', async () => {
  await overview();
  const troubles = page.locator('.trouble-rows');
  await troubles.getByRole('link', { name: /login\.shop\.example\.com/ }).waitFor();
  await open('#/pod?health=ok');
  await page.getByText('no actor matches').waitFor();
  expect(await cli('get', 'pods')).toMatch(/pod\/shop\/web-0 +(waiting|wrong)/);
  expect(await cli('get', '--health', 'wrong')).toMatch(/^domain\/_\/login\.shop\.example\.com +wrong/m);
  await kubectlSays(/web-0 +1\/1 +Running .* 0\/1/, 'get', 'pods', '-n', 'shop', '-o', 'wide');
});

ask('an event is sent by a form of its fields, which says what is right', async () => {
  await open('#/election/shop/till?do=send');
  const dialog = page.getByRole('dialog');
  const field = (name: string) => dialog.getByRole('textbox', { name: new RegExp(`^${name}`) });
  await dialog.getByRole('radio', { name: 'election.campaign the candidate wants to lead' }).check();
  await field('ttlMs').fill('soon');
  await dialog.getByRole('button', { name: 'Send …' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'candidate is missing: text, 1 to 253' }).waitFor();
  await dialog.getByRole('alert').filter({ hasText: 'ttlMs takes a whole number, 100 to' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await picture(page, 'send-form');
  await field('candidate').fill('till-c');
  await field('ttlMs').fill('500');
  await dialog.getByRole('button', { name: 'Send …' }).click();
  await dialog.getByText('{"type":"election.campaign","candidate":"till-c","ttlMs":500}').waitFor();
  await dialog.getByRole('button', { name: 'Yes, send it' }).click();
  await dialog.getByText(/It (went|stays)/).waitFor();
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
  await scene.cluster.kill(0, 'SIGSTOP');
  const silent = /no news since \d+s \(as of \d\d:\d\d:\d\d\)/;
  await page.getByRole('status').filter({ hasText: silent }).waitFor();
  await picture(page, 'no-news');
  await scene.cluster.kill(0, 'SIGCONT');
  await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
});
