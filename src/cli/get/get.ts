/** `orrery get`: lists the actors of the whole cluster, those with trouble first, each with its reason. */
import { sleep, systemClock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import { actorId, parseActorId } from '../../base/ids.ts';
import type { ActorSummary, ControlPort, ListAnswer } from '../../base/views.ts';
import { withClient } from '../cluster-connection.ts';
import { findActor, isNamed, missingActor } from '../find-actor.ts';
import { loadedKinds } from '../own/loaded-kinds.ts';
import {
  addClientFlags,
  addFeatureFlag,
  CommandFailed,
  flagTexts,
  formatOption,
  type Program,
} from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { inOrder, listAll } from './list-all.ts';
import { sorted, type TableOptions, tableOf } from './rows.ts';
import { type Filters, readSelection, type Selection } from './selection.ts';

interface GetOptions extends Filters {
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly sortBy?: string;
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
}

const examples = `
Examples:
  orrery get                                every actor, whatever is wrong first
  orrery get pods -n shop                   the Pods of one namespace, and why each is in its state
  orrery get domains --ending 30d           certificates that end within 30 days or fail, and why
  orrery get services --sort-by -pods-that-wait
  orrery get el,rel -o wide                 elections and releases, with owner, revision and next deadline
  orrery get --health wrong -w              what is in trouble now, what joins it and what leaves it
  orrery get pod/shop/web-0 domain/app.example.com
  orrery get -o json | jq '.actors[] | select(.parked)'`;

export function getCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('get')
    .summary('list actors')
    .description(
      'List actors of the whole cluster: the health of each, since when, and why. What is wrong comes first.',
    )
    .argument(
      '[what...]',
      'kinds (pod, pods, po, or several with commas), names after a kind, or ids KIND/NAMESPACE/NAME',
    )
    .option('-n, --namespace <NS>', 'only this namespace')
    .option('-A, --all-namespaces', 'all namespaces, as without --namespace')
    .option('--state <STATE>', 'only actors in this state; a part of its name, such as proving, is enough')
    .option('--health <HEALTH>', 'only actors that are ok, waiting or wrong')
    .option('--owner <REPLICA>', 'only actors that this replica owns')
    .option('-l, --selector <FILTERS>', 'the same filters in one option: state=proving,health=wrong,owner=r1')
    .option('--ending <TIME>', 'only what expires within this time, such as 30d, or is not ok')
    .option('--sort-by <COLUMN>', 'a column, such as since or expires; -COLUMN: the largest first')
    .option('-w, --watch', 'keep printing actors as they change, until Ctrl-C')
    .addOption(formatOption('-o, --output <format>', ['table', 'wide', 'json', 'yaml']));
  addClientFlags(addFeatureFlag(command)).addHelpText('after', examples);
  command.action(async (words: readonly string[], options: GetOptions) => {
    const loaded = await loadedKinds({ ...options }, terminal);
    const kinds = loaded.charts.filter(({ durable }) => durable);
    const { namespace: _, ...others } = options;
    const filters = options.allNamespaces === true ? others : options;
    const selection = readSelection(words, filters, kinds, systemClock.now());
    await withClient(flagTexts({ ...options }), terminal, async ({ control }) => {
      const answer = await ask(control, selection);
      await print(answer, selection, options, terminal);
      if (!options.watch) await refuseMissing(control, answer, selection, options);
      else await watch(control, selection, { answer, options, terminal });
    });
  });
}

/**
 * After what was found was printed.
 *
 * @throws OrreryError ACTOR_MISSING: somebody named what does not exist
 * @throws CommandFailed when nothing was found, and a part was not heard: that there is nothing is not known
 */
async function refuseMissing(
  control: ControlPort,
  { actors, missingShards }: ListAnswer,
  selection: Selection,
  options: GetOptions,
): Promise<void> {
  if (actors.length === 0 && missingShards.length > 0) throw new CommandFailed();
  const found = new Set(actors.map(({ id }) => parseActorId(id).name));
  const [name, ...others] = selection.names.filter((name) => !found.has(name));
  if (name === undefined || missingShards.length > 0) return;
  const { kind } = selection;
  if (others.length === 0 && kind !== null) {
    const ids = (await listAll(control, { kind })).actors.map(({ id }) => id);
    const missing = actorId(kind, options.namespace ?? '_', name);
    // Otherwise the filters leave it out.
    if (!ids.some((id) => isNamed(id, missing))) throw missingActor(missing, ids);
  }
  const names = [name, ...others];
  throw new OrreryError('ACTOR_MISSING', `no actors found${wanted({ ...selection, names }, options)}`);
}

/** The listed and the named actors. */
async function ask(
  control: ControlPort,
  { requests, ids, includes, hasFacts }: Selection,
): Promise<ListAnswer> {
  const lists = requests.map((request) => listAll(control, hasFacts ? { ...request, facts: true } : request));
  const named = ids.map((id) => findActor(control, id, { history: false }));
  const [answers, views] = await Promise.all([Promise.all(lists), Promise.all(named)]);
  const actors = new Map<string, ActorSummary>();
  for (const actor of answers.flatMap((answer) => answer.actors))
    if (includes(actor)) actors.set(actor.id, actor);
  for (const view of views) actors.set(view.id, view);
  return {
    actors: [...actors.values()],
    next: answers.find(({ next }) => next !== null)?.next ?? null,
    missingShards: [...new Set(answers.flatMap(({ missingShards }) => missingShards))].sort(inOrder),
  };
}

async function print(
  { actors, missingShards, next }: ListAnswer,
  selection: Selection,
  options: GetOptions,
  terminal: Terminal,
): Promise<void> {
  const rows = sorted(actors, options.sortBy, tableOptions(selection, options, terminal));
  if (options.output === 'json')
    terminal.out(`${JSON.stringify({ actors: rows, next, missingShards }, null, 2)}\n`);
  else if (options.output === 'yaml') {
    const { stringify } = await import('yaml');
    terminal.out(stringify({ actors: rows, next, missingShards }, { aliasDuplicateObjects: false }));
  } else if (rows.length > 0) terminal.out(tableOf(rows, tableOptions(selection, options, terminal)));
  else if (selection.names.length === 0 || options.watch || missingShards.length > 0)
    terminal.err(`no actors found${wanted(selection, options)}\n`);
  if (next !== null) {
    terminal.err(`only the first ${actors.length} are shown; narrow it down with a kind or -n\n`);
  }
  if (missingShards.length > 0) {
    terminal.err(`shards ${missingShards.join(', ')} did not answer: their actors are missing above\n`);
  }
}

function tableOptions({ kind }: Selection, { output }: GetOptions, { style }: Terminal): TableOptions {
  return { isWide: output === 'wide', hasFacts: kind !== null, now: systemClock.now(), style };
}

/** How often changes are polled. */
const watchMs = 1_000;

/** Prints an actor whenever its row has changed since the last print, and when it is listed no more. */
async function watch(
  control: ControlPort,
  selection: Selection,
  { answer, options, terminal }: { answer: ListAnswer; options: GetOptions; terminal: Terminal },
): Promise<void> {
  const { interrupted } = terminal;
  let known = new Map(answer.actors.map((actor) => [actor.id, standing(actor)]));
  for (;;) {
    await sleep(systemClock, watchMs, interrupted).catch(() => {});
    if (interrupted.aborted) return;
    const { actors, missingShards } = await ask(control, selection);
    const changed = actors.filter((actor) => known.get(actor.id) !== standing(actor));
    printChanges(changed, selection, options, terminal);
    const listed = new Set(actors.map(({ id }) => id));
    for (const id of known.keys())
      if (!listed.has(id) && missingShards.length === 0) printGone(id, options, terminal);
    // Actors of shards that nobody answers for are not gone.
    const isKept = missingShards.length > 0 ? [...known] : [];
    known = new Map([...isKept, ...actors.map((actor) => [actor.id, standing(actor)] as const)]);
  }
}

const standing = ({ rev, state, parked, reason }: ActorSummary) =>
  `${rev} ${state} ${parked} ${reason.health}`;

/** The actor has ended, or the filters do not select it any more. */
function printGone(id: string, { output }: GetOptions, terminal: Terminal): void {
  const isTable = output === 'table' || output === 'wide';
  terminal.out(isTable ? `${id}   is not listed any more\n` : `${JSON.stringify({ id, gone: true })}\n`);
}

function printChanges(
  actors: readonly ActorSummary[],
  selection: Selection,
  options: GetOptions,
  terminal: Terminal,
): void {
  if (actors.length === 0) return;
  const isTable = options.output === 'table' || options.output === 'wide';
  if (!isTable) {
    for (const actor of actors) terminal.out(`${JSON.stringify(actor)}\n`);
    return;
  }
  const [, ...lines] = tableOf(actors, tableOptions(selection, options, terminal)).split('\n');
  terminal.out(lines.join('\n'));
}

function wanted(
  { requests, names }: Selection,
  { namespace, state, health, owner, selector, ending }: GetOptions,
): string {
  const kinds = [...new Set(requests.flatMap(({ kind }) => kind ?? []))];
  const words = [
    ...(kinds.length === 0 ? [] : [`of kind ${kinds.join(', ')}`]),
    ...(names.length === 0 ? [] : [`named ${names.join(', ')}`]),
    ...(namespace === undefined ? [] : [`in namespace ${namespace}`]),
    ...(state === undefined ? [] : [`in state ${state}`]),
    ...(health === undefined ? [] : [`that are ${health}`]),
    ...(owner === undefined ? [] : [`owned by ${owner}`]),
    ...(selector === undefined ? [] : [`with ${selector}`]),
    ...(ending === undefined ? [] : [`that end within ${ending}, or are not ok`]),
  ];
  return words.length === 0 ? '' : ` ${words.join(' ')}`;
}
