/** The actor's context as a tree; the last step's changes are marked and open. */
import type { ActorId } from '../../../base/ids.ts';
import type { LiveRow } from '../../../base/views.ts';
import { ActorLink } from '../pieces.ts';
import { html, useState, type VNode } from '../vendor.ts';
import { type Change, compare, type ValueNode } from './difference.ts';

const changeWords: Readonly<Record<Change, string>> = {
  same: '',
  inside: '',
  new: 'new',
  changed: 'changed',
  gone: 'gone',
};
const signs: Readonly<Record<Change, string>> = { same: '', inside: '', new: '+', changed: '~', gone: '−' };
/** Only the beginning of a long list is drawn. */
const childrenMax = 60;

type Rows = ReadonlyMap<ActorId, LiveRow>;

export function ContextTree({
  context,
  before,
  rows,
  isKnown,
  isOpen,
  onOpen,
}: {
  context: unknown;
  before: unknown;
  rows: Rows;
  isKnown: boolean;
  /** Closed at first: facts and reason say what people need. */
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}): VNode {
  const root = isOpen ? compare('', context, before) : null;
  return html`<section class="card context" aria-labelledby="h-context">
    <h2 id="h-context"><button class="fold" aria-expanded=${isOpen} onClick=${() => onOpen(!isOpen)}><span class="caret" aria-hidden="true">${isOpen ? '▾' : '▸'}</span>Raw context</button></h2>
    ${isOpen && !isKnown && html`<p class="quiet">Its context at that time is not known: the recording does not go back to its beginning.</p>`}
    ${root && isKnown && html`<ul class="tree">${(root.children ?? []).map((node) => html`<${Branch} key=${node.name} node=${node} rows=${rows} depth=${0} />`)}</ul>`}
  </section>`;
}

function Branch({ node, rows, depth }: { node: ValueNode; rows: Rows; depth: number }): VNode {
  const [choice, setChoice] = useState<boolean | null>(null);
  const { name, children, change, value } = node;
  const isOpen = choice ?? (change === 'inside' || (depth === 0 && (children?.length ?? 0) <= 6));
  const sign = html`<span class="sign ${change}" title=${changeWords[change]}>${signs[change]}<span class="sr-only">${changeWords[change]}</span></span>`;
  if (!children || children.length === 0) {
    return html`<li class=${change}>${sign}<span class="key">${name}</span> <${Leaf} node=${node} rows=${rows} /></li>`;
  }
  return html`<li class=${change}>${sign}<button class="fold" aria-expanded=${isOpen} onClick=${() => setChoice(!isOpen)}><span class="caret" aria-hidden="true">${isOpen ? '▾' : '▸'}</span><span class="key">${name}</span></button>
    <span class="size">${Array.isArray(value) ? `${children.length} item${children.length === 1 ? '' : 's'}` : `${children.length} field${children.length === 1 ? '' : 's'}`}</span>
    ${
      isOpen &&
      html`<ul>${children.slice(0, childrenMax).map((child) => html`<${Branch} key=${child.name} node=${child} rows=${rows} depth=${depth + 1} />`)}
      ${children.length > childrenMax && html`<li class="quiet">${children.length - childrenMax} more</li>`}</ul>`
    }
  </li>`;
}

function Leaf({ node, rows }: { node: ValueNode; rows: Rows }): VNode {
  const { value, before, change } = node;
  const shown =
    typeof value === 'string' && rows.has(value as ActorId)
      ? html`<${ActorLink} id=${value} />`
      : html`<span class="value ${kindOf(value)}">${textOf(value)}</span>`;
  return html`${change === 'changed' && html`<del class="value">${textOf(before)}</del> <span aria-hidden="true">→</span> `}${shown}${instantOf(node)}`;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value === '' ? '""' : value;
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.length}]`;
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length === 0
      ? '{}'
      : '{…}'
    : String(value);
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** A number that can only be a time is also shown as one. */
function instantOf({ value }: ValueNode): VNode | null {
  if (typeof value !== 'number' || value < 1.5e12 || value > 4e12) return null;
  return html` <span class="instant">${new Date(value).toISOString().slice(11, 23)}</span>`;
}
