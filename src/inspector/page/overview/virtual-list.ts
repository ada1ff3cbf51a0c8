/** A list of any length with only the visible rows in the document. All rows have the same height. */
import { html, useEffect, useLayoutEffect, useRef, useState, type VNode } from '../vendor.ts';

/** Extra rows drawn above and below, so that fast scrolling shows no gaps. */
const margin = 8;

export function VirtualList<T>({
  items,
  rowHeight,
  keyOf,
  row,
  label,
  selected = -1,
}: {
  items: readonly T[];
  rowHeight: number;
  keyOf: (item: T) => string;
  /** Draws a row; the list positions it. */
  row: (item: T, index: number) => VNode;
  label: string;
  /** Kept in view. */
  selected?: number;
}): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = new ResizeObserver(() => setHeight(element.clientHeight));
    measure.observe(element);
    return () => measure.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || selected < 0) return;
    const from = selected * rowHeight;
    const isSeen = from >= element.scrollTop && from + rowHeight <= element.scrollTop + element.clientHeight;
    if (!isSeen) element.scrollTop = from - (element.clientHeight - rowHeight) / 2;
  }, [selected, rowHeight]);
  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + margin);
  return html`<div class="virtual" ref=${box} role="list" aria-label=${label} tabindex="0"
    onScroll=${({ currentTarget }: { currentTarget: HTMLElement }) => setTop(currentTarget.scrollTop)}>
    <div class="virtual-all" style=${{ height: `${items.length * rowHeight}px` }}>
      ${items.slice(first, last).map(
        (item, index) => html`<div key=${keyOf(item)} role="listitem" class="virtual-row"
        aria-setsize=${items.length} aria-posinset=${first + index + 1}
        style=${{ transform: `translateY(${(first + index) * rowHeight}px)`, height: `${rowHeight}px` }}>${row(item, first + index)}</div>`,
      )}
    </div>
  </div>`;
}
