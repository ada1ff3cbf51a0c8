/**
 * The inspector as a person meets it: in a real browser, with three real replicas that ask Kubernetes who is
 * calling, while a shop of Pods is rolled over again and again, and then at rest.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { type Scenario, startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { requestToken } from '../../src/cli/token.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { accessibilityFaults, hasBrowser, launch, openTab, picture, type Tab } from './browser.ts';
import { chartByKeyboard } from './chart-by-keyboard.ts';
import { cutNames, isEndOfNameSeen, leadOfLongName } from './cut-names.ts';
import { deadLetterTests, tell } from './dead-letters-page.ts';
import { createSessions } from './sessions.ts';
import { cutInTheBar, kindsByKeyboard, kindsOf, leavesMenu } from './top-bar.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const timeoutMs = 60_000;
const moving = { reducedMotion: 'no-preference' } as const;

describe.skipIf(!hasBrowser)('the inspector', { timeout: timeoutMs }, () => {
  let cluster: DevCluster;
  let scenario: Scenario;
  let browser: Browser;
  let base: string;
  const tokens = { look: '', send: '' };
  const tabs: Tab[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'orrery-page-'));

  beforeAll(async () => {
    const { signal } = new AbortController();
    cluster = await startDevCluster(
      {
        ...basics,
        dir,
        replicas: 3,
        program,
        http: { host: '127.0.0.1', port: 0 },
        restarts: true,
        replicaFlags: () => ['--inspector-auth', 'kubernetes'],
        print: () => {},
      },
      signal,
    );
    scenario = startScenario({
      ...basics,
      kube: cluster.kube,
      routing: cluster.routing,
      print: () => {},
      // The cluster is at rest for half of the time: each step is drawn, stored and told to all.
      ...{ rollOverEveryMs: 20_000, requestsPerSecond: 1 },
    });
    for (const replica of cluster.replicas) await untilReady(replica, systemClock, signal);
    base = cluster.replicas[0]?.url ?? '';
    tokens.look = (await requestToken(cluster.kube, 'orrery', 'orrery-inspector-view', 3_600)).token;
    tokens.send = (await requestToken(cluster.kube, 'orrery', 'orrery-inspector-operate', 3_600)).token;
    browser = await launch();
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await scenario?.stop();
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  afterEach(async () => {
    const complaints = tabs.flatMap((tab) => tab.complaints());
    for (const { page } of tabs.splice(0)) await page.context().close();
    expect(complaints).toEqual([]);
  });

  /** Chromium says of every answer over 399 that it failed to load; the refused sign-in is one. */
  const refusals = /status of 401|WebSocket connection to .* failed/;
  /**
   * It says so of each question whether the token is still accepted, which follows each failed attempt to
   * open the feed. Before a replica has met NATS it answers with 503, and connections of that time are cut.
   */
  const whileNobodyIsThere =
    /(net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|status of 503 .*) at \S+\/api\/v1\/session$/;
  const sessionOf = createSessions(refusals);

  async function tab(options: Parameters<typeof openTab>[2] = {}, expected: RegExp = /(?!)/): Promise<Tab> {
    const opened = await openTab(browser, base, options, new RegExp(`${refusals.source}|${expected.source}`));
    tabs.push(opened);
    return opened;
  }

  async function signedIn(
    path = '#/',
    { token = tokens.send, ...options }: Parameters<typeof openTab>[2] & { token?: string } = {},
    expected: RegExp = /(?!)/,
  ): Promise<Page> {
    const storageState = await sessionOf(browser, base, token);
    const { page } = await tab({ ...options, storageState }, expected);
    if (path !== '#/') await page.goto(`${base}/${path}`);
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
    return page;
  }

  const revision = async (page: Page) =>
    Number(await page.locator('.ownership dt:has-text("Revision") + dd').textContent());
  const serviceRow = (page: Page) =>
    page
      .locator('.step-row')
      .filter({ has: page.locator('.cause a') })
      .first();

  test('lets nobody in without a token that Kubernetes knows, and its cookie is out of reach of scripts', async () => {
    const { page } = await tab();
    await page.getByLabel('Token').fill('no-such-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'does not accept the token' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await picture(page, 'sign-in');
    await page.getByLabel('Token').fill(tokens.look);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Replicas and shards' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  test('shows the whole cluster at a glance, in light and dark, to everybody', async () => {
    const page = await signedIn('#/', moving);
    await page.locator('.planet').nth(63).waitFor();
    expect(await page.locator('.replicas tbody tr').count()).toBe(3);
    await page.getByRole('link', { name: /^pod 3$/ }).waitFor();
    await until(async () => (await page.locator('.news-rows li').count()) > 8, {
      what: 'steps to be told',
      timeoutMs,
    });
    const shards = async () =>
      (await page.locator('.replicas td:nth-child(2)').allTextContents()).map(Number);
    await until(async () => Math.min(...(await shards())) >= 21, {
      what: 'each replica to have its part',
      timeoutMs,
    });
    const flying = 'document.getAnimations().filter(({ effect }) => effect.target.closest(".planet")).length';
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect([scheme, await accessibilityFaults(page)]).toEqual([scheme, []]);
      await until(async () => (await page.evaluate(flying)) === 0, { what: 'planets to arrive', timeoutMs });
      await picture(page, `overview-${scheme}`);
    }
  });

  test('finds an actor by its name and shows its steps as they happen', async () => {
    const page = await signedIn();
    await page.keyboard.press('/');
    await page.keyboard.type('web-1');
    await page.getByRole('option', { name: /pod\/shop\/web-1/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.state.leaf.active').first().waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    const before = await revision(page);
    await until(async () => (await revision(page)) > before + 2, { what: 'live steps', timeoutMs });
    await until(() => page.locator('.arrow.taken, .line.taken').first().isVisible(), {
      what: 'the arrow that was taken',
      timeoutMs,
    });
    const active = await page.locator('.state.leaf.active .name').allTextContents();
    const named = (await page.locator('.state-chip .state-name').textContent()) ?? '';
    expect(active.length > 0 && active.every((name) => named.includes(name) || name !== '')).toBe(true);
  });

  test('goes back in time and forth again, and every moment has an address', async () => {
    const page = await signedIn('#/pod/shop/web-0', moving);
    await until(async () => (await page.locator('.step-row').count()) > 5, {
      what: 'the time line',
      timeoutMs,
    });
    const row = page.locator('.step-row').filter({ hasText: /\.proving\.\w+ → gated\.marking/ });
    await row.first().click();
    await page.getByText('You are looking at the past').waitFor();
    expect(await page.locator('.state.leaf.active .name').textContent()).toBe('patching');
    // Where many states lead to the same one, each names it in a line instead of an arrow.
    await page.locator('.arrow.taken, .line.taken').first().waitFor();
    await page.getByRole('button', { name: 'Raw context' }).click();
    await page.locator('.tree li:is(.new, .changed, .inside)').first().waitFor();
    await picture(page, 'time-travel-light');
    await page.keyboard.press('f');
    await page.setViewportSize({ width: 1600, height: 1100 });
    const view = () => page.locator('.chart-svg').getAttribute('viewBox');
    const isAtRest = async () => {
      const before = await view();
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
      );
      return before === (await view());
    };
    await until(isAtRest, { what: 'the camera to rest' });
    await picture(page, 'whole-chart-light');
    await page.keyboard.press('f');
    const address = page.url();
    expect(address).toMatch(/at=\d+&when=\d+&open=context$/);
    await page.keyboard.press('ArrowLeft');
    await page
      .locator('.state.leaf.active .name')
      .getByText(/^(asking|telling|told|unsaid)$/)
      .waitFor();
    await page.goto(address);
    await page.reload();
    await until(async () => (await page.locator('.state.leaf.active .name').textContent()) === 'patching', {
      what: 'the same moment',
    });
    await page.keyboard.press('l');
    await page.getByText('You are looking at the past').waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('at=');
  });

  test('leads from a step to the actor that caused it, at that moment', async () => {
    const page = await signedIn('#/pod/shop/web-2');
    await serviceRow(page).waitFor();
    await serviceRow(page).locator('.cause a').click();
    await page.getByText('You are looking at the past').waitFor();
    expect(page.url()).toMatch(/#\/(service|pod)\/shop\/.+\?at=\d+&when=\d+$/);
    await page.getByRole('heading', { name: 'Talks with' }).waitFor();
  });

  describe('once nothing changes any more', () => {
    // Each rolling update computes as much as several of these tests.
    beforeAll(() => scenario.stop());

    test('sends an event that the chart takes now, after a confirmation', async () => {
      const page = await signedIn('#/pod/shop/web-0');
      await page.locator('.state.leaf.active').first().waitFor();
      await page.keyboard.press('s');
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('radio', { name: 'pod.recheck' }).check();
      expect(await dialog.getByText('header.seen').count()).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Send …' }).click();
      await dialog.getByText('This changes the cluster').waitFor();
      await picture(page, 'send-light');
      await dialog.getByRole('button', { name: 'Yes, send it' }).click();
      await dialog.getByText(/It (went|stays)/).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.locator('.step-row').filter({ hasText: 'pod.recheck' }).first().waitFor();
    });

    test('offers no sending to those who may only look', async () => {
      const page = await signedIn('#/pod/shop/web-0', { token: tokens.look });
      await page.locator('.state.leaf.active').first().waitFor();
      expect(await page.getByRole('button', { name: 'Send event' }).count()).toBe(0);
    });

    test('is used with the keyboard alone', async () => {
      const page = await signedIn();
      await page.getByRole('link', { name: /^pod/ }).first().waitFor();
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
      for (let tabs = 0; tabs < 12; tabs++) {
        await page.keyboard.press('Tab');
        if (/^service/.test(String(await page.evaluate('document.activeElement.textContent.trim()')))) break;
      }
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: /^service/ }).waitFor();
      await page.locator('.list-row').nth(4).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.locator('.list-row.selected').waitFor();
      await page.keyboard.press('Enter');
      await page.locator('.state.leaf.active').first().waitFor();
      await chartByKeyboard(page);
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('o');
      await page.getByRole('heading', { name: 'Replicas and shards' }).waitFor();
    });

    test.each(['light', 'dark'] as const)(
      'an actor and a list can be read by everybody, %s',
      async (colorScheme) => {
        const page = await signedIn('#/service/shop/cart', { colorScheme });
        await page.locator('.state.leaf.active').first().waitFor();
        await until(async () => (await page.locator('.step-row').count()) > 3, {
          what: 'the time line',
          timeoutMs,
        });
        expect(await accessibilityFaults(page)).toEqual([]);
        await picture(page, `actor-${colorScheme}`);
        await page.goto(`${base}/#/pod`);
        await page.locator('.list-row').nth(2).waitFor();
        expect(await accessibilityFaults(page)).toEqual([]);
      },
    );

    test.each([
      [360, 780],
      [768, 1024],
      [1280, 800],
      [2560, 1440],
    ])('fits a screen of %d × %d pixels', async (width, height) => {
      const page = await signedIn('#/', { viewport: { width, height } });
      const views = {
        overview: '#/',
        list: '#/pod',
        events: '#/events',
        actor: '#/pod/shop/web-0',
        regions: '#/service/shop/cart',
      };
      for (const [name, path] of Object.entries(views)) {
        await page.goto(`${base}/${path}`);
        await page.locator('.kind-bar, .list-row, .event-row, .state.leaf.active').first().waitFor();
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([name, overflow]).toEqual([name, 0]);
        expect([name, await cutInTheBar(page)]).toEqual([name, []]);
        expect([name, await cutNames(page)]).toEqual([name, []]);
        if (name === 'list') {
          expect(await leadOfLongName(page)).toBeGreaterThan(30);
          if (width < 600 || width > 1_500) expect(await isEndOfNameSeen(page)).toBe(true);
        }
        if (width < 1_000 && !['events', 'regions'].includes(name)) await picture(page, `${name}-${width}`);
      }
      expect(await kindsByKeyboard(page)).toEqual(await kindsOf(page));
      expect(await leavesMenu(page)).toBe(true);
      expect(await cutInTheBar(page, { moreKinds: 12 })).toEqual([]);
      expect(await accessibilityFaults(page)).toEqual([]);
    });

    test.each(['#/pod', '#/events'])(
      'on a phone the filters of %s are one line until they are wanted',
      async (path) => {
        const page = await signedIn(path, { viewport: { width: 360, height: 780 } });
        await page.locator('.list-row, .event-row').first().waitFor();
        const heights = async () => (await page.locator('.filters').boundingBox())?.height ?? 0;
        expect(await heights()).toBeLessThan(70);
        const unfold = page.getByRole('button', { name: /^Filters/ });
        await unfold.click();
        expect(await heights()).toBeGreaterThan(100);
        await page.locator('.filters select').first().selectOption({ index: 1 });
        await unfold.click();
        expect(await unfold.textContent()).toBe('Filters (1)');
        expect(await heights()).toBeLessThan(70);
        await picture(page, `folded-${path.slice(2)}`);
      },
    );

    deadLetterTests(() => ({ natsUrl: cluster.natsUrl, tokens, signedIn }));

    test('shows shards that move when a replica hangs and dies, and what it owned is owned again', async () => {
      const page = await signedIn();
      await page.locator('.planet').nth(63).waitFor();
      // Killed right away it might be back, and own its shards again, before anybody misses it.
      await cluster.kill(2, 'SIGSTOP');
      await page.locator('.moves').waitFor({ timeout: 30_000 });
      await cluster.kill(2);
      await until(async () => (await page.locator('.planet.moving, .planet.owner-none').count()) === 0, {
        what: 'all shards to be owned',
        timeoutMs,
      });
      await untilReady(cluster.replicas[2] as never, systemClock, new AbortController().signal);
    });

    test('comes back by itself after the replica that served it was killed', async () => {
      const page = await signedIn('#/pod/shop/web-0', {}, whileNobodyIsThere);
      await page.locator('.state.leaf.active').first().waitFor();
      await cluster.kill(0);
      await page.getByRole('status').filter({ hasText: 'reconnecting' }).waitFor();
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor({ timeout: 30_000 });
      const before = await revision(page);
      await tell(cluster.natsUrl, 'pod/shop/web-0', { type: 'pod.recheck' });
      await until(async () => (await revision(page)) > before, {
        what: 'steps after the new beginning',
        timeoutMs,
      });
    });
  });
});
