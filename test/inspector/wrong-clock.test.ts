/** A browser whose clock is an hour ahead, or behind: times are the replica's. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, launch } from './browser.ts';
import { type Crowd, startCrowd } from './crowd.ts';

describe.skipIf(!hasBrowser)('a browser whose clock is wrong', () => {
  let crowd: Crowd;
  let browser: Browser;

  beforeAll(async () => {
    crowd = await startCrowd(5);
    browser = await launch();
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await crowd?.stop();
  });

  test.each([
    ['ahead', 1],
    ['behind', -1],
  ])('by an hour, %s: what has just happened is in the time line, and ages are small', async (_, hours) => {
    const page = await browser.newPage();
    await page.addInitScript(`const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};`);
    await page.goto(`${crowd.base}/#/events`);
    await page.locator('.event-row').first().waitFor();
    expect(await page.locator('.event-row').count()).toBeGreaterThan(4);
    await page.goto(`${crowd.base}/#/pod/shop/web-0`);
    const age = page.locator('.reason-card .since');
    await age.waitFor();
    expect(await age.textContent()).toMatch(/^ok for (\d+s|\d+m\d*s?),/);
    await page.close();
  });
});
