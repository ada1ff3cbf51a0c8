/**
 * Thousands of actors in the page: all are there, are filtered and sorted, and only what is seen is drawn.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { actorId } from '../../src/base/ids.ts';
import { until } from '../until.ts';
import { hasBrowser, launch, openTab, picture } from './browser.ts';
import { type Crowd, startCrowd } from './crowd.ts';

/** Ten thousand and more are measured: bench/inspector.ts. */
const count = 4_000;

describe.skipIf(!hasBrowser)('thousands of actors', () => {
  let crowd: Crowd;
  let browser: Browser;
  let page: Page;
  let complaints: () => string[];
  const end = new AbortController();

  beforeAll(async () => {
    crowd = await startCrowd(count);
    browser = await launch();
    ({ page, complaints } = await openTab(browser, crowd.base));
    await page.goto(`${crowd.base}/#/pod`);
  }, 180_000);

  afterAll(async () => {
    end.abort();
    await browser?.close();
    await crowd?.stop();
  });

  const heading = () => page.locator('h1').textContent();

  test('are listed, and few rows are in the document', async () => {
    await until(async () => (await heading())?.includes('4,000'), { what: 'all actors', timeoutMs: 30_000 });
    expect(await page.locator('.list-row').count()).toBeLessThan(80);
    await picture(page, 'list-4000');
  });

  test('are filtered by what is typed', async () => {
    await page.getByLabel('Filter').fill('web-77');
    await until(async () => (await heading())?.includes('11 of 4,000'), { what: 'the filtered ones' });
    expect(page.url()).toContain('q=web-77');
    await page.getByLabel('Filter').fill('');
    await until(async () => (await heading())?.match(/^pod 4,000$/), { what: 'all again' });
  });

  test('are scrolled through to the last', async () => {
    await page.getByLabel('Sort').selectOption('name');
    await page.locator('.virtual').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.locator('.list-row').filter({ hasText: 'web-999' }).waitFor();
    expect(await page.locator('.list-row').count()).toBeLessThan(80);
  });

  test('keep the one that was chosen while others change places', async () => {
    const placed = (place: number) =>
      page.locator(`.virtual-row[aria-posinset="${place}"] a`).textContent({ timeout: 15_000 });
    await page.goto(`${crowd.base}/#/pod`);
    await page.getByLabel('Sort').selectOption('since');
    await page.getByLabel('Filter').fill('web-77');
    await until(async () => (await heading())?.includes('11 of'), { what: 'the filtered ones' });
    await page.locator('.virtual').focus();
    for (const _ of [1, 2]) await page.keyboard.press('ArrowDown');
    const [first, chosen] = [String(await placed(1)), String(await placed(2))];
    expect(await page.locator('.list-row.selected a').textContent()).toBe(chosen);
    const [namespace = '', name = ''] = first.split('/');
    await crowd.recheck(actorId('pod', namespace, name));
    await until(async () => (await placed(1)) === chosen, { what: 'the first to go to the end' });
    expect(await page.locator('.list-row.selected a').textContent()).toBe(chosen);
    await page.keyboard.press('Enter');
    await until(() => page.url().endsWith(`#/pod/${chosen}`), { what: 'its page' });
  });

  test('stay live while fifty steps a second happen', async () => {
    void crowd.keepBusy(50, end.signal);
    await page.goto(`${crowd.base}/#/`);
    await until(async () => Number(await page.locator('.rates li b').first().textContent()) > 25, {
      what: 'the rate to be shown',
      timeoutMs: 30_000,
    });
    end.abort();
    expect(complaints()).toEqual([]);
  });
});
