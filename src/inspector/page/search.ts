/** The search field: finds any actor of the cluster by a part of its name. */
import type { ActorId } from '../../base/ids.ts';
import { useKeys } from './keys.ts';
import { go } from './navigation.ts';
import { actorHref } from './page-address.ts';
import type { Store } from './page-store.ts';
import { Mark, StateName } from './pieces.ts';
import { html, useRef, useState, type VNode } from './vendor.ts';

const resultsMax = 12;

export function Search({ store }: { store: Store }): VNode {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  useKeys((key) => {
    if (key !== '/') return false;
    field.current?.focus();
    field.current?.select();
    return true;
  });
  const found = text.trim() === '' ? [] : find(store.rows.keys(), text.trim().toLowerCase());
  const leave = () => {
    setText('');
    field.current?.blur();
  };
  const open = (id: ActorId | undefined) => {
    if (!id) return;
    go(actorHref(id));
    leave();
    // Otherwise Tab would begin at the top of the page again.
    document.getElementById('main')?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') leave();
    else if (event.key === 'Enter') open(found[chosen]);
    else if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
    else return;
    event.preventDefault();
  };
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    setText(currentTarget.value);
    setChosen(0);
  };
  const isOpen = text.trim() !== '';
  return html`<div class="search" role="search">
    <input ref=${field} type="search" placeholder="Search actors" aria-label="Search actors" role="combobox" aria-expanded=${isOpen}
      aria-controls="search-results" aria-activedescendant=${found[chosen] ? `found-${chosen}` : undefined}
      value=${text} onInput=${onInput} onKeyDown=${onKeyDown} autocomplete="off" spellcheck=${false} />
    <kbd aria-hidden="true">/</kbd>
    ${
      isOpen &&
      html`<ul id="search-results" role="listbox" aria-label="Actors found">
      ${found.map((id, index) => {
        const row = store.rows.get(id);
        return html`<li id="found-${index}" role="option" aria-selected=${index === chosen} onMouseDown=${() => open(id)} onMouseEnter=${() => setChosen(index)}>
          <${Mark} health=${row?.reason.health ?? 'waiting'} parked=${row?.parked} />
          <span class="found-id">${id}</span><${StateName} state=${row?.state ?? ''} />
        </li>`;
      })}
      ${found.length === 0 && html`<li class="none" role="option" aria-selected="false">no actor has “${text}” in its name</li>`}
    </ul>`
    }
  </div>`;
}

/** Names that start with the text first, then the others. */
function find(ids: Iterable<ActorId>, text: string): ActorId[] {
  const [first, others]: [ActorId[], ActorId[]] = [[], []];
  for (const id of ids) {
    const lower = id.toLowerCase();
    const at = lower.indexOf(text);
    if (at < 0) continue;
    if (lower.startsWith(text, lower.lastIndexOf('/') + 1) || at === 0) first.push(id);
    else others.push(id);
    if (first.length >= resultsMax) break;
  }
  return [...first, ...others].slice(0, resultsMax);
}
