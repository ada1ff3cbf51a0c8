/**
 * The chart in its panel: camera, minimap, buttons, and a textual form for screen readers.
 */
import type { ChartLayout } from '../../charts/chart-layout.ts';
import type { ChartTransition } from '../../charts/chart-tree.ts';
import { useKeys } from '../keys.ts';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState, type VNode } from '../vendor.ts';
import { between, type CameraMode, followView, type View, wholeView, zoomed } from './camera.ts';
import { ChartDefinitions, ChartDrawing, type ChartMoment } from './chart-view.ts';
import { activePaths, statesOf } from './drawings.ts';
import { refKey } from './taken.ts';

const flightMs = 420;
/** Width that the minimap covers; narrow panels have none. */
const mapWidth = 165;
/** Height that legend and buttons cover. */
const barHeight = 46;
const usable = (width: number) => (width > 700 ? width - mapWidth : width);

export function ChartPanel({ layout, moment }: { layout: ChartLayout; moment: ChartMoment }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [mode, setMode] = useState<CameraMode>('follow');
  const [size, setSize] = useState({ width: 0, height: 0 });
  const { view, moveTo, set } = useFlight(wholeView(layout, 800, 500));
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    measure.observe(element);
    setSize({ width: element.clientWidth, height: element.clientHeight });
    return () => measure.disconnect();
  }, []);
  const { width, height } = size;
  const isPlaced = useRef(false);
  useEffect(() => {
    if (width === 0 || mode === 'free') return;
    const wanted =
      mode === 'whole'
        ? wholeView(layout, width, height)
        : followView(layout, moment.state, moment.taken, usable(width), height - barHeight);
    if (isPlaced.current) moveTo(wanted);
    else set(wanted);
    isPlaced.current = true;
  }, [mode, moment.state, moment.turn, layout, width, height]);
  const free = (next: View) => {
    setMode('free');
    set(next);
  };
  useKeys((key) => {
    if (key === 'f') setMode(mode === 'whole' ? 'follow' : 'whole');
    return key === 'f';
  });
  useWheel(box, view, free);
  const drag = useDrag(view, free);
  const step = (factor: number) => free(zoomed(view, factor, width / 2, height / 2));
  return html`<div class="chart-panel ${mode}" ref=${box}>
    <svg class="chart-svg" role="img" aria-label=${spoken(layout, moment)} aria-describedby="chart-keys" tabindex="0"
      onKeyDown=${onKeys({ view, move: free, zoom: step })} ...${drag}
      viewBox="${view.x} ${view.y} ${Math.max(1, width / view.scale)} ${Math.max(1, height / view.scale)}">
      <${ChartDefinitions} />
      <${ChartDrawing} layout=${layout} moment=${moment} />
    </svg>
    <p class="sr-only" id="chart-keys">Arrow keys move the view, plus and minus zoom; Tab leaves. The states follow as a list.</p>
    <div class="chart-buttons" role="group" aria-label="View of the chart">
      <button aria-pressed=${mode === 'follow'} onClick=${() => setMode('follow')} title="Follow the active state (f)">Follow</button>
      <button aria-pressed=${mode === 'whole'} onClick=${() => setMode('whole')} title="The whole chart (f)">Whole</button>
      <button class="icon" onClick=${() => step(1 / 1.25)} aria-label="Smaller">−</button>
      <button class="icon" onClick=${() => step(1.25)} aria-label="Larger">+</button>
    </div>
    <${Legend} />
    ${mode !== 'whole' && html`<${MiniMap} layout=${layout} state=${moment.state} view=${view} width=${width} height=${height} />`}
    <${Outline} layout=${layout} moment=${moment} />
  </div>`;
}

/** Animates the view to its target; without animation for people who want no motion. */
function useFlight(first: View) {
  const [view, setView] = useState(first);
  const current = useRef(first);
  const flight = useRef(0);
  const set = (next: View) => {
    cancelAnimationFrame(flight.current);
    current.current = next;
    setView(next);
  };
  const moveTo = (wanted: View) => {
    cancelAnimationFrame(flight.current);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return set(wanted);
    const from = current.current;
    let began = 0;
    const frame = (time: number) => {
      began ||= time;
      const part = Math.min(1, (time - began) / flightMs);
      current.current = between(from, wanted, part);
      setView(current.current);
      if (part < 1) flight.current = requestAnimationFrame(frame);
    };
    flight.current = requestAnimationFrame(frame);
  };
  useEffect(() => () => cancelAnimationFrame(flight.current), []);
  return { view, moveTo, set };
}

function useDrag(view: View, move: (view: View) => void) {
  const start = useRef<{ readonly x: number; readonly y: number; readonly view: View } | null>(null);
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0 || event.pointerType === 'touch') return;
      start.current = { x: event.clientX, y: event.clientY, view };
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove({ clientX, clientY }: PointerEvent) {
      const from = start.current;
      if (!from || Math.hypot(clientX - from.x, clientY - from.y) < 3) return;
      const { scale } = from.view;
      move({
        scale,
        x: from.view.x - (clientX - from.x) / scale,
        y: from.view.y - (clientY - from.y) / scale,
      });
    },
    onPointerUp() {
      start.current = null;
    },
  };
}

const arrows: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
/** How far an arrow key moves the view, in pixels of the screen. */
const keyStep = 60;

/** Keys of the drawing while it has the focus; the page does not get them, where ← and → travel in time. */
function onKeys({
  view,
  move,
  zoom,
}: {
  view: View;
  move: (view: View) => void;
  zoom: (factor: number) => void;
}) {
  return (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = arrows[event.key];
    if (arrow) {
      const far = keyStep / view.scale;
      move({ ...view, x: view.x + arrow[0] * far, y: view.y + arrow[1] * far });
    } else if (event.key === '+' || event.key === '=') zoom(1.25);
    else if (event.key === '-') zoom(1 / 1.25);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

/** With Ctrl (or a pinch, which reports it) the wheel zooms; without it the page scrolls. */
function useWheel(
  box: { readonly current: HTMLDivElement | null },
  view: View,
  move: (view: View) => void,
): void {
  useLayoutEffect(() => {
    const element = box.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
      move(zoomed(view, Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top));
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  });
}

function MiniMap({
  layout,
  state,
  view,
  width,
  height,
}: {
  layout: ChartLayout;
  state: string;
  view: View;
  width: number;
  height: number;
}): VNode {
  const active = activePaths(state);
  return html`<svg class="mini-map" viewBox="0 0 ${layout.width} ${layout.height}" aria-hidden="true">
    ${layout.states.filter(({ path }) => path !== '').map((one) => html`<rect key=${one.path} class=${active.has(one.path) ? 'active' : ''} x=${one.x} y=${one.y} width=${one.width} height=${one.height} rx="10" />`)}
    <rect class="window" x=${view.x} y=${view.y} width=${width / view.scale} height=${height / view.scale} rx="10" />
  </svg>`;
}

function Legend(): VNode {
  return html`<ul class="legend" aria-label="How to read the chart">
    <li><i class="l-active"></i>active</li><li><i class="l-taken"></i>taken last</li><li><i class="l-next"></i>possible next</li>
  </ul>`;
}

function spoken({ machine, states }: ChartLayout, { state }: ChartMoment): string {
  return `Statechart of ${machine} with ${states.length - 1} states; active: ${state.split(',').join(' and ').replaceAll('.', ' in which ')}`;
}

/** The chart as a list, for screen readers: each state, and what leads from it to where. */
function Outline({ layout, moment: { state, taken } }: { layout: ChartLayout; moment: ChartMoment }): VNode {
  return useMemo(() => {
    const active = activePaths(state);
    return html`<div class="sr-only"><h3>States</h3><ul>
      ${statesOf(layout.chart).map(
        ({
          path,
          transitions,
        }) => html`<li key=${path}>${path === '' ? 'in any state' : spokenPath(path)}${path !== '' && active.has(path) ? ' (active)' : ''}
        ${transitions.length > 0 && html`<ul>${transitions.map((transition, index) => html`<li>${spokenArrow(transition)}${taken.has(refKey({ source: path, index })) ? ' (taken last)' : ''}</li>`)}</ul>`}</li>`,
      )}
    </ul></div>`;
  }, [layout, state, taken]);
}

const spokenPath = (path: string) => path.replaceAll('.', ', ');

/** `pod.observed, if isGone: to gone`, `after life: to deleting`, `pod.recheck: stays` */
function spokenArrow({ on, trigger, guard, targets }: ChartTransition): string {
  const cause = {
    event: trigger,
    always: 'at once',
    after: `after ${trigger}`,
    done: trigger || 'when done',
  }[on];
  const to = targets === null ? 'stays' : `to ${targets.map(spokenPath).join(' and ')}`;
  return `${cause}${guard === null ? '' : `, if ${guard}`}: ${to}`;
}
