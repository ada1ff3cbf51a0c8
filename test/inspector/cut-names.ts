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

/** Whether the end of a name of 42 letters is seen in the first row of a list: it tells two names apart. */
export function isEndOfNameSeen(page: Page): Promise<boolean> {
  return page.evaluate(`(() => {
    const link = document.querySelector('.list-row .actor-link');
    const [lead, name] = link.children;
    const row = link.closest('.list-row').getBoundingClientRect();
    lead.textContent = 'platform-observability/';
    name.textContent = 'telemetry-ingest-gateway-shard-router-v2-1';
    const end = document.createRange();
    end.setStart(name.firstChild, name.textContent.length - 1);
    end.setEnd(name.firstChild, name.textContent.length);
    const { right, bottom } = end.getBoundingClientRect();
    return right <= link.getBoundingClientRect().right + 1 && bottom <= row.bottom;
  })()`);
}
