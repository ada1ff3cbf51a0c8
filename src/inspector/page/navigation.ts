/** Navigation to another part of the page. */
import type { HistoryStep } from '../../base/views.ts';
import { type ActorPlace, hrefOf, readRoute } from './page-address.ts';

/** Navigates; with `replace`, as for a filter being typed, without an entry in the history. */
export function go(href: string, { replace = false } = {}): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** Stays on the shown actor, at another moment or with another section open. */
export function stay(part: Partial<ActorPlace>): void {
  const route = readRoute(location.hash);
  if (route.view === 'actor') go(hrefOf({ ...route, ...part }), { replace: true });
}

/** Shows one step of an actor's history; after the newest step comes the present. */
export function goTo(steps: readonly HistoryStep[], index: number): void {
  if (index < 0) return;
  const step = steps[index];
  stay({ at: step?.rev ?? null, when: step?.at ?? null });
}
