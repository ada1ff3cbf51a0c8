/** `orrery events`: the log of transitions, past and live. */

import { once } from 'node:events';
import type { StepName } from '../../actors/step-order.ts';
import { systemClock } from '../../base/clock.ts';
import { duration, readAs } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import type { Transition } from '../../base/views.ts';
import { causeText, change, effectList, eventName, shownTime } from '../../base/words.ts';
import { says } from '../../inspector/events/event-pages.ts';
import { type KindsKnown, knownKind, readActorWords, readKnownId } from '../actor-argument.ts';
import { type Client, withClient } from '../cluster-connection.ts';
import { absenceOf, findId } from '../find-actor.ts';
import { readKind } from '../kind-argument.ts';
import { loadedKinds } from '../own/loaded-kinds.ts';
import { addClientFlags, addFeatureFlag, flagTexts, formatOption, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { readStepName, sequenceLines, sequenceOf } from './event-sequence.ts';
import { readEnd, readTime } from './event-times.ts';
import { followEvents } from './events-log.ts';

interface EventsOptions {
  readonly follow?: boolean;
  readonly since?: string;
  readonly from?: string;
  readonly to?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly reason?: string;
  readonly utc?: boolean;
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  orrery events --since 10m                 what happened in the last ten minutes
  orrery events --from 03:10 --to 03:15     what happened that night, in local time; --utc for UTC
  orrery events --kind domain --reason rateLimited
  orrery events pod/shop/web-0@12           what led to that step, and what it led to, in whichever actors
  orrery events pod/shop/web-0@12 --to 03:10   the same of its last step 12 by then, if it came back since
  orrery events pod/shop/web-0 --follow     one actor, live, until Ctrl-C
  orrery events -o json | jq -r .to         one JSON object a line

Transitions are kept for 24 hours. Heartbeats that change nothing are left out.`;

export function eventsCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('events')
    .summary('the transition log')
    .description('The log of transitions: every saved step of every actor, once and in order.')
    .argument(
      '[id...]',
      'only this actor: KIND/NAMESPACE/NAME or KIND NAME; with @REVISION: what caused that step, and what it caused; or only this KIND',
    )
    .option('-n, --namespace <NS>', 'only actors of this namespace')
    .option('-f, --follow', 'keep printing new steps until Ctrl-C')
    .option(
      '--since <TIME>',
      'how far back, such as 90s, 15m, 1h or 1d (default: 1h; with --follow: from now on)',
    )
    .option('--from <TIME>', 'from this time: 03:10, 2026-11-22T03:10, 15m')
    .option('--to <TIME>', 'up to this time')
    .option('--kind <KIND>', 'only actors of that kind: pod, pods, po')
    .option(
      '--reason <TEXT>',
      'only steps with this text in event, state, effect, cause or a field; upper or lower case',
    )
    .option('--utc', 'read and print times in UTC')
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(addFeatureFlag(command)).addHelpText('after', examples);
  command.action(async (words: readonly string[], given: EventsOptions) => {
    const kinds = () => loadedKinds({ ...given }, terminal);
    const { text, ...options } = await readWords(words, given, kinds);
    const asked = await readStepName(text ?? '', kinds, options.namespace);
    if (asked !== null) return printSequence({ ...asked, by: readBy(options) }, options, terminal);
    const wanted = await readWanted(text, options, kinds);
    await withClient(flagTexts({ ...options }), terminal, (client) =>
      follow(client, wanted, options, terminal),
    );
  });
}

/** A single word without a slash is a kind, and the flag is not needed. */
async function readWords(
  words: readonly string[],
  options: EventsOptions,
  kinds: KindsKnown,
): Promise<EventsOptions & { readonly text?: string }> {
  const [only] = words;
  if (only === undefined) return options;
  if (words.length === 1 && !only.includes('/') && options.kind === undefined)
    return { ...options, kind: await readKindFlag(only, kinds) };
  const { text, rest } = await readActorWords(words, kinds);
  if (rest.length > 0)
    throw new OrreryError('USAGE', `ID: one actor at a time: ${text}, not also ${rest.join(' ')}`);
  return { ...options, text };
}

async function printSequence(asked: StepName, options: EventsOptions, terminal: Terminal): Promise<void> {
  const view = await withClient(flagTexts({ ...options }), terminal, ({ control }) =>
    sequenceOf(control, asked),
  );
  const lines =
    options.output === 'json'
      ? view.steps.map((one) => JSON.stringify(one))
      : sequenceLines(view, asked, options.utc === true, terminal);
  terminal.out(`${lines.join('\n')}\n`);
}

/** Of several steps of one revision, the last one by then is meant. @throws OrreryError USAGE */
function readBy({ to, utc = false, ...others }: EventsOptions): number | null {
  const vain = (['follow', 'since', 'from', 'kind', 'reason'] as const).find((name) => others[name]);
  if (vain !== undefined) throw new OrreryError('USAGE', `--${vain} cannot be used with ID@REVISION`);
  return to === undefined ? null : readEnd(to, { now: systemClock.now(), from: null, isUtc: utc });
}

interface Wanted {
  readonly id?: ActorId;
  readonly kind?: string;
  readonly namespace?: string;
  /** Ms since the epoch. */
  readonly from: number;
  readonly to: number;
}

async function readWanted(
  text: string | undefined,
  options: EventsOptions,
  kinds: KindsKnown,
): Promise<Wanted> {
  const { kind, namespace, utc = false, to, follow } = options;
  if (to !== undefined && follow) throw new OrreryError('USAGE', '--to and --follow cannot be used together');
  const now = systemClock.now();
  const from = readFrom(options, now);
  const end = to === undefined ? Number.POSITIVE_INFINITY : readEnd(to, { now, from, isUtc: utc });
  if (from > end) throw new OrreryError('USAGE', '--to lies before --from');
  return {
    ...(text === undefined ? {} : { id: await readKnownId(text, kinds, namespace) }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(kind === undefined ? {} : { kind: await readKindFlag(kind, kinds) }),
    from,
    to: end,
  };
}

async function readKindFlag(text: string, kinds: KindsKnown): Promise<string> {
  const { charts } = await kinds();
  return readKind(text, charts);
}

function readFrom({ from, since, follow, utc = false }: EventsOptions, now: number): number {
  if (from !== undefined && since !== undefined) {
    throw new OrreryError('USAGE', '--from and --since cannot be used together');
  }
  if (from !== undefined) return readTime('--from', from, now, utc);
  // "From now" is requested, too, so that a person who waits for steps learns whether anybody answers.
  if (since === undefined) return follow ? now : now - 3_600_000;
  return now - readAs(duration, '--since', since);
}

async function follow(
  { control, feed }: Client,
  { id: named, kind, namespace, from, to }: Wanted,
  options: EventsOptions,
  terminal: Terminal,
): Promise<void> {
  const kinds = () => loadedKinds({ ...options }, terminal);
  const id = named === undefined ? undefined : await findId(control, named, kinds);
  let printed = 0;
  const print = (step: Transition) => {
    if (
      step.at > to ||
      !says(step, options.reason ?? '') ||
      (kind !== undefined && !step.id.startsWith(`${kind}/`)) ||
      (id === undefined && namespace !== undefined && parseActorId(step.id).namespace !== namespace)
    )
      return;
    printed++;
    terminal.out(`${options.output === 'json' ? JSON.stringify(step) : line(step, options, terminal)}\n`);
  };
  const asked = id === undefined ? (kind === undefined ? {} : { kind }) : { id };
  const log = await followEvents({
    feed: feed(asked),
    history: (request) => control.history({ ...request, ...asked }),
    since: from,
    until: to,
    isLive: options.follow === true,
    clock: systemClock,
    onStep: print,
  });
  if (options.follow && !terminal.interrupted.aborted) await once(terminal.interrupted, 'abort');
  log.stop();
  if (printed > 0 || options.follow) return;
  if (id !== undefined) await knownKind(id, kinds);
  const missing = id === undefined ? null : await absenceOf(control, id);
  terminal.err(`no transitions found${spanOf(options)}${missing === null ? '' : `; ${missing.message}`}\n`);
}

/** Who gave no time may not know how far back was read. */
const spanOf = ({ from, since }: EventsOptions): string =>
  from === undefined && since === undefined ? ' in the last hour (--since 1d: all that is kept)' : '';

function line(transition: Transition, { utc = false }: EventsOptions, { style }: Terminal): string {
  const { at, id, rev, event, effects, replica, cause } = transition;
  const asked = effects.length === 0 ? '' : `  asked for ${effectList(effects)}`;
  const where = style('dim', `rev ${rev} on ${replica}`);
  const because = cause === null ? '' : style('dim', ` (because of ${causeText(cause)})`);
  return `${shownTime(at, utc)}  ${id}  ${eventName(event.type)}: ${change(transition)}${asked}  ${where}${because}`;
}
