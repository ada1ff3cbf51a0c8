/** Light, dark, or the system's choice; remembered in this browser. */
export type Theme = 'system' | 'light' | 'dark';

const key = 'orrery.theme';
const order: readonly Theme[] = ['system', 'light', 'dark'];

export function theme(): Theme {
  const set = document.documentElement.dataset.theme;
  return set === 'light' || set === 'dark' ? set : 'system';
}

export function restoreTheme(): void {
  const remembered = localStorage.getItem(key);
  if (remembered === 'light' || remembered === 'dark') document.documentElement.dataset.theme = remembered;
}

export function nextTheme(): Theme {
  const next = order[(order.indexOf(theme()) + 1) % order.length] ?? 'system';
  if (next === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  localStorage.setItem(key, next);
  return next;
}
