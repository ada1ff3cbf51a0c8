/**
 * Subjects to which the server does not let this user subscribe: for people, in few lines and in `/readyz`.
 *
 * A user without permissions is refused some forty subscriptions at once: one line names what is refused
 * within a second, as permissions name it. Absent: that they are tried again (lasting-subscription.ts).
 */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log-port.ts';
import type { Troubles } from '../../troubles.ts';
import { familyOf, smallLossesOf, smallLossOf } from './subject-family.ts';

export interface SubscriptionRefusals {
  /** Again and again, while it is refused. */
  note(subject: string): void;
  /** The server took it, or nobody wants it any more. */
  over(subject: string, isHeard: boolean): void;
}

const gatherMs = 1_000;

export function subscriptionRefusals(parts: {
  readonly clock: Clock;
  readonly troubles: Troubles;
  readonly log: Log;
}): SubscriptionRefusals {
  const { clock, troubles, log } = parts;
  /** What is refused, by what one permission would allow. */
  const refused = new Map<string, Set<string>>();
  const gathered = { refused: new Set<string>(), heard: new Set<string>() };
  let isGathering = false;
  const tell = (): void => {
    isGathering = false;
    const subjects = [...gathered.refused].sort();
    const small = smallLossesOf(subjects);
    if (subjects.length > 0) log[small === undefined ? 'error' : 'warn']({ subjects }, notHeard(small));
    if (gathered.heard.size > 0) log.info({ subjects: [...gathered.heard].sort() }, heardNow);
    for (const families of Object.values(gathered)) families.clear();
  };
  const tellLater = (): void => {
    if (!isGathering) clock.after(gatherMs, tell);
    isGathering = true;
  };
  return {
    note(subject) {
      const family = familyOf(subject);
      const known = refused.get(family);
      if (known !== undefined) return void known.add(subject);
      refused.set(family, new Set([subject]));
      const isMinor = smallLossOf(family) !== undefined;
      troubles.note(whatOf(family), textOf(family), { isMinor, refused: family });
      gathered.refused.add(family);
      tellLater();
    },
    over(subject, isHeard) {
      const family = familyOf(subject);
      const known = refused.get(family);
      if (!known?.delete(subject) || known.size > 0) return;
      refused.delete(family);
      troubles.over(whatOf(family));
      if (!isHeard) return;
      gathered.heard.add(family);
      tellLater();
    },
  };
}

const whatOf = (family: string) => `subscription ${family}`;

function textOf(family: string): string {
  const follows = smallLossOf(family) ?? 'nothing there is heard';
  return `NATS refuses this user the subscription to ${family}: ${follows}. Add it to what the user may subscribe to (deploy/nats/permissions.conf)`;
}

const notHeard = (loss = 'nothing there is heard until it may') =>
  `NATS refuses this user the subscription to these subjects: ${loss}. Add them to what the user may subscribe to (deploy/nats/permissions.conf); tried again every 2 s`;
const heardNow = 'subjects whose subscription was refused are heard now';
