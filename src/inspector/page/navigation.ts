/** Going to another part of the page. */

/** Goes there; a filter that is being typed leaves no trail in the history. */
export function go(href: string, { replace = false } = {}): void {
  if (!replace) location.hash = href;
  else {
    history.replaceState(null, '', href);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}
