/** Key presses: whose they are, and a hook for those of the whole page. */
import { useLayoutEffect } from './vendor.ts';

/** Whether a key press is input to a field. */
export function isTyping({ target }: Event): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether an open dialog handles keys itself. */
function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

/**
 * Keys of the whole page, while nobody types into a field, no dialog is open and no modifier is held.
 *
 * They change together with what is drawn, before the next press: none meets the keys of an older picture.
 *
 * @param onKey returns whether it took the key
 */
export function useKeys(onKey: (key: string) => boolean): void {
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (isTyping(event) || isDialogOpen() || event.ctrlKey || event.metaKey || event.altKey) return;
      if (onKey(event.key)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  });
}
