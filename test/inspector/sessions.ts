/** Signed-in browsers for tests: the form is filled in once for each token, and its cookie is reused. */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { openTab } from './browser.ts';

type Session = NonNullable<BrowserContextOptions['storageState']>;

/** @param expected noise of the browser that signing in causes */
export function createSessions(expected: RegExp) {
  const known = new Map<string, Session>();
  return async (browser: Browser, base: string, token: string): Promise<Session> => {
    const found = known.get(token);
    if (found !== undefined) return found;
    const { page } = await openTab(browser, base, {}, expected);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
    const session = await page.context().storageState();
    await page.context().close();
    known.set(token, session);
    return session;
  };
}
