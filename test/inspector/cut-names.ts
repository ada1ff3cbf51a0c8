/** Links to actors whose name does not fit: on a small screen one row must still be told from the next. */
import type { Page } from 'playwright-core';

/** Their ids; of kind and namespace any part may be missing. */
export function cutNames(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const isCut = (link) => {
      const room = link.getBoundingClientRect();
      const name = document.createRange();
      name.selectNodeContents(link.lastChild);
      return room.width > 0 && name.getBoundingClientRect().right > room.right + 1;
    };
    return [...document.querySelectorAll('.actor-link')].filter(isCut).map((link) => link.title);
  })()`);
}
