/** Whether a key press is input to a field. */
export function isTyping({ target }: Event): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether an open dialog handles keys itself. */
export function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}
