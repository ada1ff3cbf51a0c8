/** The bar at the top of the page: whether it shows all of its parts, and whether keys reach the kinds. */
import type { Page } from 'playwright-core';

export const kindsOf = (page: Page): Promise<string[]> =>
  page.evaluate(
    "[...document.querySelectorAll('header.top nav a')].map((link) => link.getAttribute('href'))",
  );

/**
 * Visible parts of the bar that are outside it, or show only a part of their content.
 *
 * @param moreKinds number of copies of the last kind that are added first; they stay
 */
export function cutInTheBar(page: Page, { moreKinds = 0 } = {}): Promise<string[]> {
  return page.evaluate(`(() => {
    const bar = document.querySelector('header.top');
    const last = bar.querySelector('nav a:last-child');
    for (let more = 0; more < ${moreKinds}; more++) last.after(last.cloneNode(true));
    const room = bar.getBoundingClientRect();
    const wordsOf = (field) => {
      const pen = document.createElement('canvas').getContext('2d');
      const { font, paddingLeft, paddingRight } = getComputedStyle(field);
      pen.font = font;
      return pen.measureText(field.placeholder).width + parseFloat(paddingLeft) + parseFloat(paddingRight);
    };
    const isCut = (part) => {
      if (part.placeholder && wordsOf(part) > part.clientWidth + 1) return true;
      const { left, right, top, bottom, width } = part.getBoundingClientRect();
      const isOutside = left < room.left || right > room.right || top < room.top || bottom > room.bottom + 1;
      return width > 0 && (isOutside || part.scrollWidth > part.clientWidth + 1);
    };
    const parts = bar.querySelectorAll('a, nav, input, button, .live, .tools');
    return [...parts].filter(isCut).map((part) => part.outerHTML.slice(0, 120));
  })()`);
}

/** Addresses of the kinds that Tab reaches from the bar's first element on; Enter opens their menu. */
export async function kindsByKeyboard(page: Page): Promise<string[]> {
  await page.locator('.brand').focus();
  const reached: string[] = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const place = await page.evaluate<string>(
      "document.activeElement.matches('.menu') ? 'menu' : document.activeElement.getAttribute('href') ?? 'other'",
    );
    if (place === 'other') return reached;
    if (place === 'menu') await page.keyboard.press('Enter');
    else reached.push(place);
  }
}

/** Whether Escape closes the menu of kinds, where there is one, and leads back to its button. */
export async function leavesMenu(page: Page): Promise<boolean> {
  const menu = page.locator('.menu');
  if (!(await menu.isVisible())) return true;
  if ((await menu.getAttribute('aria-expanded')) === 'false') await menu.press('Enter');
  await page.locator('#kinds a').last().press('Escape');
  const isClosed = (await menu.getAttribute('aria-expanded')) === 'false';
  return isClosed && (await page.locator('.menu:focus').count()) === 1;
}
