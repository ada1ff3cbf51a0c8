/** Going to another part of the page. */
import type { ActorId } from '../../base/ids.ts';
import type { HistoryStep } from '../../base/views.ts';
import { actorHref } from './page-address.ts';

/** Goes there; a filter that is being typed leaves no trail in the history. */
export function go(href: string, { replace = false } = {}): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}

/** Goes to one step of an actor's history; past the newest step is the present. */
export function goTo(id: ActorId, steps: readonly HistoryStep[], index: number): void {
  if (index < 0) return;
  go(actorHref(id, index >= steps.length ? null : (steps[index]?.rev ?? null)), { replace: true });
}
