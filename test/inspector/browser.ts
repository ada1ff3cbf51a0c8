/**
 * Chromium for tests, headless, and the requirements for every page in it: no error in its console, no
 * request to another host, no breach of its content security policy, no serious fault of accessibility.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../scripts/setup/chromium.mjs';

const root = join(import.meta.dirname, '../..');
const found = findChromium(root, process.env);
/** Tests that look are skipped without a browser; `npm test` fetches one if it can. */
export const hasBrowser = found !== undefined;

const { SCREENSHOTS: images } = process.env;

export async function launch(): Promise<Browser> {
  if (!found) throw new Error('there is no Chromium');
  const libraries = [found.libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return chromium.launch({
    executablePath: found.file,
    // Containers have no user namespaces to sandbox in; the only pages opened are our own.
    args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'],
    env: { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: libraries },
  });
}

export interface Tab {
  readonly page: Page;
  /** What went wrong in it so far; stops collecting. */
  complaints(): string[];
}

/**
 * For somebody who wants no motion, unless the options say otherwise: drawing it costs more than most tests.
 *
 * @param expected noise of the browser itself that a test causes, such as a cut connection
 */
export async function openTab(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
  expected: RegExp = /(?!)/,
): Promise<Tab> {
  const usual = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' } as const;
  const context = await browser.newContext({ ...usual, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  const complain = (text: string) => void (expected.test(text) || complaints.push(text));
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    complain(`${message.type()}: ${message.text()} at ${message.location().url}`);
  });
  page.on('pageerror', (error) => complain(`thrown: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(base).host) complain(`asks ${request.url()}`);
  });
  try {
    await page.goto(`${base}/`);
  } catch (error) {
    // Nobody would close it, and it would go on drawing.
    await context.close();
    throw error;
  }
  return { page, complaints: () => complaints.splice(0) };
}

/**
 * Into the folder that SCREENSHOTS names; without it none is taken, because drawing costs more than the test.
 */
export async function picture(page: Page, name: string): Promise<void> {
  if (images === undefined) return;
  mkdirSync(join(root, images), { recursive: true });
  await page.screenshot({ path: join(root, images, `${name}.png`) });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Faults that exclude somebody: rule, element, and why. WCAG 2.2 A and AA and axe's good practices. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Through the debugger, not a script element: the page's policy allows none.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource);
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: Array<{
      id: string;
      impact: string;
      nodes: Array<{ target: string[]; failureSummary: string }>;
    }>;
  };
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
    );
}
