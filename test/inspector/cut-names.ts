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

/** What a name of 120 letters leaves of its namespace in the first row of a list, in pixels. */
export function leadOfLongName(page: Page): Promise<number> {
  return page.evaluate(`(() => {
    const link = document.querySelector('.list-row .actor-link');
    const [lead, name] = [...link.children].map((part) => link.appendChild(part.cloneNode(true)));
    for (const part of [...link.children].slice(0, 2)) part.remove();
    lead.textContent = 'platform-observability/';
    name.textContent = 'x'.repeat(120);
    link.classList.add('long');
    return lead.getBoundingClientRect().width;
  })()`);
}
