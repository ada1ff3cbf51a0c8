/**
 * The frame around every view: name, kinds, search, connection; which view is shown; global keys.
 */
import { ActorPage } from './actor/actor.ts';
import { signOut } from './api.ts';
import { newsText } from './connection.ts';
import { EventsPage } from './events/events-page.ts';
import { Help } from './help.ts';
import { isTyping } from './keys.ts';
import { go } from './navigation.ts';
import { DeadLettersPage } from './overview/dead-letters.ts';
import { ListPage } from './overview/list.ts';
import { Overview } from './overview/overview.ts';
import { eventsHref, listHref, type Route, readRoute } from './page-address.ts';
import type { Store } from './page-store.ts';
import { useTick } from './pieces.ts';
import { Search } from './search.ts';
import { SignIn } from './sign-in.ts';
import { nextTheme, theme } from './theme.ts';
import { html, useEffect, useRef, useState, type VNode } from './vendor.ts';

export function App({ store }: { store: Store }): VNode {
  const [route, setRoute] = useState<Route>(() => readRoute(location.hash));
  const [, setVersion] = useState(0);
  const [isHelping, setHelping] = useState(false);
  useEffect(() => store.onChange(() => setVersion((version) => version + 1)), [store]);
  useEffect(() => {
    const onHash = () => setRoute(readRoute(location.hash));
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '?') setHelping((was) => !was);
      else if (event.key === 'Escape') setHelping(false);
      else if (event.key === 'o') go('#/');
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const id = route.view === 'actor' ? route.id : null;
  const kind = route.view === 'list' ? route.kind : null;
  useEffect(() => store.look(id, kind), [id, kind]);
  useEffect(() => {
    document.title = titleOf(route);
  }, [route]);
  const { refused } = store;
  if (refused) return html`<${SignIn} refused=${refused} onSignedIn=${() => store.signedIn()} />`;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <${Header} store=${store} route=${route} onHelp=${() => setHelping(true)} />
    <main id="main" tabindex="-1"><${View} store=${store} route=${route} /></main>
    ${isHelping && html`<${Help} onClose=${() => setHelping(false)} />`}
  `;
}

function View({ store, route }: { store: Store; route: Route }): VNode {
  const kind = kindOf(route);
  if (kind !== null && store.allKinds !== null && !store.allKinds.includes(kind))
    return html`<${UnknownKind} kind=${kind} kinds=${store.allKinds} />`;
  if (route.view === 'events') return html`<${EventsPage} store=${store} place=${route} />`;
  if (route.view === 'actor')
    return html`<${ActorPage} key=${route.id} store=${store} id=${route.id} place=${route} />`;
  if (route.view === 'list')
    return html`<${ListPage} key=${route.kind} store=${store} kind=${route.kind} filter=${route.filter} />`;
  if (route.view === 'dead') return html`<${DeadLettersPage} store=${store} />`;
  return html`<${Overview} store=${store} />`;
}

function kindOf(route: Route): string | null {
  if (route.view === 'actor') return route.id.split('/', 1)[0] ?? '';
  return route.view === 'list' ? route.kind : null;
}

/** The page for an address with an unknown kind: what is wrong, and what exists. */
function UnknownKind({ kind, kinds }: { kind: string; kinds: readonly string[] }): VNode {
  return html`<div class="missing"><h1>There is no kind “${kind}”</h1>
    <p>The address ends in <code>${location.hash}</code>. After <code>#/</code> comes a kind of actors, then, for one of them, its namespace and name: <code>#/pod/shop/web-0</code>.</p>
    <ul class="kind-links" aria-label="Kinds of actors">${kinds.map((one) => html`<li key=${one}><a href=${listHref(one)}>${one}</a></li>`)}</ul>
    <p class="quiet">Or search any actor by a part of its name: press <kbd>/</kbd>. <a href="#/">Overview</a></p></div>`;
}

function titleOf(route: Route): string {
  if (route.view === 'actor') return `${route.id} – Orrery`;
  if (route.view === 'dead') return 'dead letters – Orrery';
  if (route.view === 'events') return 'time line – Orrery';
  return route.view === 'list' ? `${route.kind} – Orrery` : 'Orrery';
}

function Header({ store, route, onHelp }: { store: Store; route: Route; onHelp: () => void }): VNode {
  const [shown, setShown] = useState(theme());
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [route]);
  const menu = useRef<HTMLButtonElement | null>(null);
  const leaveMenu = ({ key }: KeyboardEvent) => {
    if (key !== 'Escape' || !isOpen) return;
    setOpen(false);
    menu.current?.focus();
  };
  const kinds = new Map([...store.kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
  const here = kindOf(route);
  return html`<header class="top">
    <a class="brand" href="#/" aria-label="Orrery, overview"><${Logo} /><span>Orrery</span></a>
    <button class="icon menu" ref=${menu} onKeyDown=${leaveMenu} aria-expanded=${isOpen} aria-controls="kinds" onClick=${() => setOpen(!isOpen)} aria-label="Kinds of actors">☰</button>
    <nav id="kinds" onKeyDown=${leaveMenu} class=${isOpen ? 'open' : ''} aria-label="Kinds of actors">
      <a href="#/" aria-current=${route.view === 'overview' ? 'page' : undefined}>Overview</a>
      <a href=${eventsHref()} aria-current=${route.view === 'events' ? 'page' : undefined}>Time line</a>
      ${[...kinds].map(
        ([kind, count]) => html`<a href=${listHref(kind)} aria-current=${here === kind ? 'page' : undefined}>
          ${kind} <span class="count">${count.toLocaleString('en')}</span>
        </a>`,
      )}
    </nav>
    <${Search} store=${store} />
    <div class="tools">
      <${Live} store=${store} />
      <button class="icon" onClick=${() => setShown(nextTheme())} title="Colours: ${shown}" aria-label="Colours: ${shown}; change">
        ${shown === 'dark' ? '☾' : shown === 'light' ? '☀' : '◐'}
      </button>
      <button class="icon" onClick=${onHelp} title="Keys (?)" aria-label="Help and keys">?</button>
      ${
        isSignedIn(store) &&
        html`<button class="icon wide" onClick=${() => signOut().then(() => location.reload())} title=${isSignedIn(store)}>Sign out</button>`
      }
    </div>
  </header>`;
}

function isSignedIn({ session }: Store): string | false {
  return session !== null && 'ok' in session && session.ok.signedIn ? session.ok.user : false;
}

function Live({ store }: { store: Store }): VNode {
  useTick(500);
  const { silence, connection, replica } = store;
  const isSilent = connection === 'live' && silence !== null;
  const word = newsText(connection, silence);
  const why = isSilent && silence.isReplica ? `nothing heard from ${replica}` : `served by ${replica}`;
  return html`<span class="live ${isSilent ? 'silent' : connection}" role="status" title=${why}>
    <span class="live-dot" aria-hidden="true"></span>${word}<span class="live-replica">${replica}</span>
  </span>`;
}

function Logo(): VNode {
  return html`<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
    <g fill="none" stroke="currentColor" stroke-width="1.6">
      <circle cx="16" cy="16" r="13" stroke-opacity=".4" /><circle cx="16" cy="16" r="7.5" stroke-opacity=".7" />
    </g>
    <circle cx="16" cy="16" r="3" class="logo-sun" /><circle cx="21.8" cy="11.2" r="2.4" class="logo-near" />
    <circle cx="5.2" cy="22.9" r="2.8" class="logo-far" />
  </svg>`;
}
