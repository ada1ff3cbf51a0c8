/**
 * What somebody does who may publish over `send`, reads what actors say to one another, and knows how their
 * messages get their ids: repeats messages word for word, and uses the next ids before the actors do.
 */
import { fromHeader } from '../../../src/actors/host/message-send.ts';
import { actorId, parseActorId } from '../../../src/base/ids.ts';
import type { StoredMessage } from '../../../src/bus/bus.ts';
import { decode, encode } from '../../../src/bus/codec.ts';
import type { Chance } from '../time/chance.ts';
import type { Stage } from './stage.ts';

/**
 * Ids of forged messages begin like this; nothing with such an id may have an effect (checkers/forged.ts).
 */
export const forgedIds = 'forged-';
const rememberedMax = 50;

export function createForger({ hub, subjects }: Pick<Stage, 'hub' | 'subjects'>, chance: Chance) {
  const heard: StoredMessage[] = [];
  const bus = hub.connect('forger');
  let forged = 0;
  hub.observe((stream, message) => {
    if (stream !== 'mail' || subjects.parseTell(message.subject) === undefined) return;
    heard.push(message);
    if (heard.length > rememberedMax) heard.shift();
  });
  const sayAgain = ({ subject, data, headers }: StoredMessage): string | null => {
    const to = subjects.parseTell(subject)?.id;
    if (to === undefined) return null;
    const body = { ...(decode(data) as { readonly type: string }), id: `${forgedIds}${++forged}` };
    const from = { [fromHeader]: headers[fromHeader] ?? '' };
    bus.append(subjects.send(to), encode(body), { headers: from }).catch(() => {});
    return `${body.type} to ${to}, as ${headers[fromHeader]}`;
  };
  const useNextIds = ({ headers }: StoredMessage): string | null => {
    const [, actor, rev] = /^(.+?)\/(\d+)\/[\d/]+(?:~.*)?$/.exec(headers['Nats-Msg-Id'] ?? '') ?? [];
    if (actor === undefined) return null;
    const { kind } = parseActorId(actor);
    const nobody = actorId(kind, '_', 'nobody-of-that-name');
    for (const [later, effect, receiver] of guesses) {
      const msgId = `${actor}/${Number(rev) + later}/${effect}/${receiver}`;
      bus.append(subjects.send(nobody), encode({ type: 'nonsense-under-an-id' }), { msgId }).catch(() => {});
    }
    return `ids of ${actor} after step ${rev}`;
  };
  return (): string | null => {
    const message = chance.pick(heard);
    if (message === undefined) return null;
    return chance.happens(0.7) ? sayAgain(message) : useNextIds(message);
  };
}

/** Steps from now, number of the effect, number of the receiver. */
const guesses: ReadonlyArray<readonly [later: number, effect: number, receiver: number]> = [1, 2, 3].flatMap(
  (later) => [0, 1].flatMap((effect) => [0, 1].map((receiver) => [later, effect, receiver] as const)),
);
