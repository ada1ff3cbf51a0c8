/**
 * What `orrery get` should list: kinds by name, plural or short name, names after a kind, whole ids, filters.
 * Pure.
 *
 * `pod`, `pods`, `po`, `pod,domain`, `domain app.example.com`, `pod/shop/web-0 election/shop/leader`.
 */
import { duration, oneOf, readAs } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { type ActorSummary, healths, type ListRequest } from '../../base/views.ts';
import { readActorId } from '../actor-argument.ts';
import { kindNamed, type NamedKind, readKind } from '../kind-argument.ts';

export interface Filters {
  readonly namespace?: string;
  readonly state?: string;
  readonly health?: string;
  readonly owner?: string;
  /** `state=proving,health=wrong,owner=r1,namespace=shop` */
  readonly selector?: string;
  /** `30d`: actors that end within this time, or are not ok. */
  readonly ending?: string;
}

export interface Selection {
  /** One list each; empty: only ids were given. */
  readonly requests: readonly ListRequest[];
  readonly ids: readonly ActorId[];
  /** After a kind: only actors with these names. */
  readonly names: readonly string[];
  /** Whether a listed actor is selected. */
  readonly includes: (actor: ActorSummary) => boolean;
  /** The single selected kind, whose facts are the columns; null: several. */
  readonly kind: string | null;
  /** Whether facts are requested, as columns or otherwise. */
  readonly hasFacts: boolean;
}

const healthOf = oneOf(...healths);
const selectable = ['namespace', 'state', 'health', 'owner'] as const;

/** @throws OrreryError USAGE with what is wrong and what is allowed */
export function readSelection(
  words: readonly string[],
  given: Filters,
  kinds: readonly NamedKind[],
  now: number,
): Selection {
  const filters = { ...given, ...readSelector(given.selector) };
  const ids = words.filter((word) => word.includes('/')).map((word) => readId(word, kinds, given.namespace));
  const [first, ...names] = words.filter((word) => !word.includes('/'));
  // "all", as for kubectl, is every kind, as without a word.
  const isAll = first === undefined || (first === 'all' && kindNamed(first, kinds) === undefined);
  const wanted = isAll ? [] : readKinds(first, names[0], kinds);
  const health = filters.health === undefined ? undefined : readAs(healthOf, '--health', filters.health);
  const isDue = readEnding(filters.ending, now);
  const base: ListRequest = {
    ...(filters.namespace === undefined ? {} : { namespace: filters.namespace }),
    ...(filters.state === undefined ? {} : { state: filters.state }),
    ...(health === undefined ? {} : { health }),
  };
  const isListed = first !== undefined || ids.length === 0;
  const listed = wanted.length === 0 ? [base] : wanted.map((kind) => ({ ...base, kind }));
  const everyKind = new Set([...wanted, ...ids.map((id) => parseActorId(id).kind)]);
  const [kind = null] = everyKind;
  return {
    requests: isListed ? listed : [],
    ids,
    names,
    includes: (actor) =>
      (filters.owner === undefined || actor.owner === filters.owner) &&
      (names.length === 0 || names.includes(parseActorId(actor.id).name)) &&
      isDue(actor),
    kind: everyKind.size === 1 ? kind : null,
    hasFacts: everyKind.size === 1 || filters.ending !== undefined,
  };
}

/** Comma list. */
function readKinds(first: string, second: string | undefined, kinds: readonly NamedKind[]): string[] {
  const isTurned = second !== undefined && kindNamed(first, kinds) === undefined;
  if (isTurned && kindNamed(second, kinds) !== undefined)
    throw new OrreryError('USAGE', `the kind comes first: get ${second} ${first}`);
  return first.split(',').map((word) => readKind(word, kinds));
}

function readId(word: string, kinds: readonly NamedKind[], namespace: string | undefined): ActorId {
  const slash = word.indexOf('/');
  return readActorId(`${readKind(word.slice(0, slash), kinds)}${word.slice(slash)}`, namespace);
}

function readSelector(text = ''): Filters {
  const pairs = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    pairs.map((part) => {
      const [, key, value] = /^([a-z]+)==?(.+)$/.exec(part.trim()) ?? [];
      if (key === undefined || !selectable.some((one) => one === key)) {
        const allowed = selectable.map((one) => `${one}=…`).join(', ');
        throw new OrreryError(
          'USAGE',
          `--selector: ${JSON.stringify(part)} is not allowed; allowed, with commas between: ${allowed}`,
        );
      }
      return [key, value];
    }),
  );
}

/** Selects actors that end within the time, or are not ok now. */
function readEnding(text: string | undefined, now: number): (actor: ActorSummary) => boolean {
  if (text === undefined) return () => true;
  const ms = readAs(duration, '--ending', text);
  return (actor) => actor.reason.health !== 'ok' || endOf(actor) <= now + ms;
}

/** When the actor's fact with an end is due, ms since the epoch; infinity: it has none. */
export function endOf({ facts = [] }: Pick<ActorSummary, 'facts'>): number {
  const end = facts.find(({ ends }) => ends === true)?.value;
  return typeof end === 'number' ? end : Number.POSITIVE_INFINITY;
}
