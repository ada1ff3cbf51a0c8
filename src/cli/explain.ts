/** `orrery explain`: one actor in words. */
import { systemClock, timestamp } from '../base/clock.ts';
import { OrreryError } from '../base/errors.ts';
import type { ActorView, Transition } from '../base/views.ts';
import {
  age,
  causeText,
  change,
  deadlineText,
  effectList,
  eventName,
  factText,
  idleText,
  nextOf,
  timerName,
  until,
} from '../base/words.ts';
import { readActorWords, readKnownId } from './actor-argument.ts';
import { withClient } from './cluster-connection.ts';
import { findActor } from './find-actor.ts';
import { loadedKinds } from './own/loaded-kinds.ts';
import { addClientFlags, addFeatureFlag, flagTexts, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

interface ExplainOptions {
  readonly namespace?: string;
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  orrery explain pod/shop/web-0             why the Pod is not ready yet, and what it waits for
  orrery explain pods web-0 -n shop         the same; without -n if no other namespace has a web-0
  orrery explain domain/_/app.example.com -o json
  orrery events pod/shop/web-0@12           what led to its step @12, and what that led to`;

export function explainCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('explain')
    .summary('one actor in words')
    .description(
      'Why one actor is in its state: the reason, facts, what comes next, how it came to this, what it waits for, ' +
        'pending effects, owner and fence.',
    )
    .argument('<id...>', 'KIND/NAMESPACE/NAME or KIND NAME, for example pod/shop/web-0 or pod web-0')
    .option('-n, --namespace <NS>', 'its namespace; not needed if there is only one of that name')
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(addFeatureFlag(command)).addHelpText('after', examples);
  command.action(async (words: readonly string[], options: ExplainOptions) => {
    const kinds = () => loadedKinds({ ...options }, terminal);
    const { text, rest } = await readActorWords(words, kinds);
    if (rest.length > 0)
      throw new OrreryError('USAGE', `ID: one actor at a time: ${text}, and then ${rest.join(' ')}`);
    const id = await readKnownId(text, kinds, options.namespace);
    const view = await withClient(flagTexts({ ...options }), terminal, ({ control }) =>
      findActor(control, id, { history: true, kinds }),
    );
    if (options.output === 'json') terminal.out(`${JSON.stringify(view, null, 2)}\n`);
    else terminal.out(`${explained(view, systemClock.now(), terminal).join('\n')}\n`);
  });
}

export function explained(view: ActorView, now: number, { style }: Pick<Terminal, 'style'>): string[] {
  const paragraphs = [
    ['Facts', facts(view, now)],
    ['Details', view.notes ?? []],
    ['State', meaning(view)],
    ['How it came to this', why(view, now)],
    ['Waits for', waits(view, now)],
    ['Pending effects', view.pending.map(({ type, key }) => `${type}  (${key})`)],
    ['Last error', view.lastError === null ? [] : [style('yellow', view.lastError)]],
    ['Owner', owner(view)],
  ] as const;
  return [
    ...standing(view, now, style),
    ...paragraphs.flatMap(([heading, lines]) =>
      lines.length === 0 ? [] : ['', style('bold', heading), ...lines.map((line) => `  ${line}`)],
    ),
  ];
}

const colours = { ok: 'green', waiting: 'yellow', wrong: 'red' } as const;

/** The answer to "why?": how it stands, why, since when, and what happens next. */
function standing(view: ActorView, now: number, style: Terminal['style']): string[] {
  const { id, reason } = view;
  const { text, health, since } = reason;
  const next = nextOf(view);
  const when = next.at === null ? '' : `, ${until(next.at, now)} (${timestamp(next.at)})`;
  return [
    `${style('bold', id)} ${style(colours[health], health)}: ${text}`,
    `  ${health} for ${age(now - since)}, since ${timestamp(since)}`,
    `  next: ${next.text}${when}`,
  ];
}

function facts({ facts }: ActorView, now: number): string[] {
  const width = Math.max(0, ...facts.map(({ label }) => label.length));
  return facts.map((fact) => {
    const [first = '', ...more] = factText(fact, now).split('\n');
    const at = fact.unit === 'time' && typeof fact.value === 'number' ? ` (${timestamp(fact.value)})` : '';
    return [`${fact.label.padEnd(width)}  ${first}${at}`, ...more.map((line) => `  ${line}`)].join('\n  ');
  });
}

/** The state's description from the chart. */
function meaning({ state, parked, meaning }: ActorView): string[] {
  return [
    parked && state !== 'parked' ? `parked in ${state}` : state,
    ...meaning
      .filter(({ description }) => description !== '')
      .map((part) => `  ${part.state}: ${part.description}`),
  ];
}

/** Further steps are in the JSON; a person reads backwards and stops. */
const stepsShown = 10;

/** The latest steps, oldest first; repeated ones without effects are counted on one line. */
function why({ recent }: ActorView, now: number): string[] {
  const lines: { text: string; rev: number; at: number; times: number }[] = [];
  for (const step of recent) {
    const last = lines.at(-1);
    const text = stepText(step);
    if (last?.text === text && step.effects.length === 0) {
      last.times++;
      last.at = step.at;
      last.rev = step.rev;
    } else lines.push({ text, rev: step.rev, at: step.at, times: 1 });
  }
  return lines
    .slice(-stepsShown)
    .map(
      ({ text, rev, at, times }) =>
        `${age(now - at).padStart(6)} ago  @${rev}  ${text}${times > 1 ? ` (${times} times)` : ''}`,
    );
}

function stepText(step: Transition): string {
  const { event, cause, from, to, effects } = step;
  const stays = from === to ? 'stays' : change(step);
  const asked = effects.length === 0 ? '' : `; asked for ${effectList(effects)}`;
  const because = cause === null ? '' : ` (because of ${causeText(cause)})`;
  return `${eventName(event.type)}: ${stays}${asked}${because}`;
}

function waits({ timers, accepts, parked }: ActorView, now: number): string[] {
  const deadlines = [...timers]
    .sort((a, b) => a.at - b.at)
    .map(({ event, at }) => `${deadlineText(timerName(event))} ${until(at, now)}, at ${timestamp(at)}`);
  const events = accepts.length === 0 ? [] : [`any of the events ${accepts.join(', ')}`];
  if (deadlines.length + events.length > 0) return [...deadlines, ...events];
  return [parked ? `${idleText({ parked })}; the reason is above` : idleText({ parked })];
}

function owner({ owner: replica, shard, fence, rev, machine, machineVersion }: ActorView): string[] {
  return [
    replica === ''
      ? `no replica owns shard ${shard}; its last fence is ${fence}`
      : `${replica} owns shard ${shard} with fence ${fence}`,
    `revision ${rev} of machine ${machine}, version ${machineVersion}`,
  ];
}
