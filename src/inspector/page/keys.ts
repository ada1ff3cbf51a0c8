/** Whether a key press belongs to a field that is being typed in. */
export function isTyping({ target }: Event): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether something is open that takes the keys itself. */
export function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}
