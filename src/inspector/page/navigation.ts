/** Going to another part of the page. */
import type { HistoryStep } from '../../base/views.ts';
import { type ActorPlace, hrefOf, readRoute } from './page-address.ts';

/** Goes there; a filter that is being typed leaves no trail in the history. */
export function go(href: string, { replace = false } = {}): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** Stays with the actor that is shown, at another moment or with something else open. */
export function stay(part: Partial<ActorPlace>): void {
  const route = readRoute(location.hash);
  if (route.view === 'actor') go(hrefOf({ ...route, ...part }), { replace: true });
}

/** Goes to one step of an actor's history; past the newest step is the present. */
export function goTo(steps: readonly HistoryStep[], index: number): void {
  if (index < 0) return;
  stay({ at: index >= steps.length ? null : (steps[index]?.rev ?? null) });
}
