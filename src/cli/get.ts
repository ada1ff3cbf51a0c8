/** `orrery get`: the actors of the whole cluster, what is wrong first. */
import { systemClock } from '../base/clock.ts';
import { OrreryError } from '../base/errors.ts';
import { parseActorId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { ActorSummary, ControlPort, ListAnswer, ListRequest } from '../base/views.ts';
import { age, timerName, until } from '../base/words.ts';
import type { Chart } from '../machines/chart.ts';
import { withClient } from './cluster-connection.ts';
import { addClientFlags, flagTexts, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';
import { table } from './text-table.ts';

interface GetOptions {
  readonly namespace?: string;
  readonly state?: string;
  readonly output: 'table' | 'json';
}

const examples = `
Examples:
  orrery get                                every actor
  orrery get pod -n shop                    the Pods of one namespace
  orrery get pod --state proving            the Pods that wait for their routes
  orrery get -o json | jq '.actors[] | select(.parked)'`;

export function getCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('get')
    .summary('list actors')
    .description('List actors of the whole cluster: id, state, since, owner, next timer, last error.')
    .argument('[kind]', 'a kind of actors, such as pod; all if absent')
    .option('-n, --namespace <NS>', 'only this namespace')
    .option('--state <STATE>', 'only actors in this state; a part of its name, such as proving, is enough')
    .addOption(formatOption('-o, --output <format>', ['table', 'json']));
  addClientFlags(command).addHelpText('after', examples);
  command.action(async (kind: string | undefined, options: GetOptions) => {
    const { charts, durableKinds } = await import('../replica/charts.ts');
    const request = readRequest(kind, options, durableKinds);
    const answer = await withClient(flagTexts({ ...options }), terminal, ({ control }) =>
      listAll(control, request),
    );
    if (options.output === 'json') terminal.out(`${JSON.stringify(answer, null, 2)}\n`);
    else await print(answer, request, charts, terminal);
  });
}

function readRequest(
  kind: string | undefined,
  { namespace, state }: GetOptions,
  kinds: readonly string[],
): ListRequest {
  if (kind !== undefined && !kinds.includes(kind)) {
    const allowed = kinds.join(', ');
    throw new OrreryError('USAGE', `KIND: ${JSON.stringify(kind)} is not allowed; allowed: ${allowed}`);
  }
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(state === undefined ? {} : { state }),
  };
}

/** Page by page, as many as `limits.listPages`. */
export async function listAll(control: ControlPort, request: ListRequest): Promise<ListAnswer> {
  const actors: ActorSummary[] = [];
  const missing = new Set<number>();
  let next: string | null = null;
  for (let page = 0; page < limits.listPages; page++) {
    const answer: ListAnswer = await control.list(next === null ? request : { ...request, after: next });
    actors.push(...answer.actors);
    for (const shard of answer.missingShards) missing.add(shard);
    next = answer.next;
    if (next === null) break;
  }
  return { actors, next, missingShards: [...missing].sort((a, b) => a - b) };
}

async function print(
  answer: ListAnswer,
  request: ListRequest,
  charts: readonly Chart[],
  terminal: Terminal,
): Promise<void> {
  const { actors, missingShards, next } = answer;
  const { wrongStates } = await import('../inspector/charts/wrong-state.ts');
  const isWrongState = wrongStates(charts);
  const ranked = actors.map((actor) => ({ actor, urgency: urgencyOf(actor, isWrongState) }));
  ranked.sort((a, b) => a.urgency - b.urgency);
  const now = systemClock.now();
  const rows = ranked.map(({ actor, urgency }) => row(actor, urgency, now, terminal));
  if (rows.length > 0) terminal.out(table(heading, rows));
  else terminal.err(`no actors found${wanted(request)}\n`);
  if (next !== null) {
    terminal.err(`only the first ${actors.length} are shown; narrow it down with a kind or -n\n`);
  }
  if (missingShards.length > 0) {
    terminal.err(`shards ${missingShards.join(', ')} did not answer: their actors are missing above\n`);
  }
}

const heading = ['ID', 'STATE', 'SINCE', 'OWNER', 'NEXT TIMER', 'LAST ERROR'];

/** What is wrong comes first: 0 parked, 1 in a state that the chart calls wrong, or with an error, 2 the rest. */
type Urgency = 0 | 1 | 2;

function urgencyOf(
  { id, state, parked, lastError }: ActorSummary,
  isWrongState: (kind: string, state: string) => boolean,
): Urgency {
  if (parked) return 0;
  return lastError !== null || isWrongState(parseActorId(id).kind, state) ? 1 : 2;
}

function row(actor: ActorSummary, urgency: Urgency, now: number, { style }: Terminal): string[] {
  const { id, state, since, owner, nextTimer, lastError, parked } = actor;
  const coloured = (text: string) => (urgency === 2 ? text : style(urgency === 0 ? 'red' : 'yellow', text));
  return [
    id,
    coloured(parked ? `parked: ${state}` : state),
    age(now - since),
    owner,
    nextTimer === null ? '-' : `${timerName(nextTimer.event)} ${until(nextTimer.at, now)}`,
    lastError === null ? '-' : coloured(lastError.replaceAll(/\s+/g, ' ').slice(0, 100)),
  ];
}

function wanted({ kind, namespace, state }: ListRequest): string {
  const words = [
    ...(kind === undefined ? [] : [`of kind ${kind}`]),
    ...(namespace === undefined ? [] : [`in namespace ${namespace}`]),
    ...(state === undefined ? [] : [`in state ${state}`]),
  ];
  return words.length === 0 ? '' : ` ${words.join(' ')}`;
}
