/** A chart is reached, moved, read and left with the keyboard alone. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../until.ts';

/** On the page of an actor; leaves the focus behind the chart. */
export async function chartByKeyboard(page: Page): Promise<void> {
  const chart = page.locator('.chart-svg');
  const view = () => chart.getAttribute('viewBox');
  const address = page.url();
  await page.getByRole('button', { name: 'Follow' }).focus();
  await page.keyboard.press('Shift+Tab');
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toMatch(/^Statechart of /);
  for (const key of ['ArrowLeft', '+']) {
    const before = await view();
    await page.keyboard.press(key);
    await until(async () => (await view()) !== before, { what: `${key} to move the view` });
  }
  expect(page.url(), 'no travel in time').toBe(address);
  const list = await page.locator('.chart-panel div.sr-only').textContent();
  expect(list).toMatch(/\.observed.*: to .*\(active\)/s);
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Follow');
}
