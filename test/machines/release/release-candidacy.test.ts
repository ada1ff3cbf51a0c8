/**
 * Who may lead the releases (docs/features/releases.md §2.1): the chart of one replica, with time in the
 * test's hand.
 */
import { expect, test } from 'vitest';
import { type LocalActor, startLocal } from '../../../src/actors/host/local.ts';
import { candidacyChart } from '../../../src/machines/release-candidacy/release-candidacy.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const clock = new VirtualClock();

function candidacy(release: string | null, chance = 0.5): LocalActor {
  return startLocal({
    chart: candidacyChart,
    input: { release },
    runEffect: () => Promise.reject(new Error('it asks for nothing')),
    clock,
    random: { next: () => chance, id: () => 'x' } as never,
  });
}

const sees = (actor: LocalActor, newest: string | null, isEntered = true) =>
  actor.send({ type: 'nodes.seen', isEntered, newest });
const mayLead = (actor: LocalActor) => actor.snapshot().hasTag('mayLead');

test('a replica without a bundle never leads, whatever it sees', async () => {
  const actor = candidacy(null);
  sees(actor, '0.1.0');
  await clock.advance(60_000);
  expect([actor.state(), mayLead(actor)]).toEqual(['without', false]);
});

test.each([
  [0, 250],
  [0.5, 500],
  [0.999_99, 750],
])('of the newest release and entered, it may lead after a pause: drawn %d, %d ms', async (chance, pause) => {
  const actor = candidacy('0.2.0', chance);
  expect(actor.state()).toBe('barred.entering');
  sees(actor, '0.2.0');
  await clock.advance(pause - 2);
  expect([actor.state(), mayLead(actor)]).toEqual(['entitled.pausing', false]);
  await clock.advance(3);
  expect([actor.state(), mayLead(actor)]).toEqual(['entitled.campaigning', true]);
});

test('news that change nothing do not draw the pause anew', async () => {
  const actor = candidacy('0.2.0');
  for (let n = 0; n < 5; n++) {
    sees(actor, '0.1.9');
    await clock.advance(101);
  }
  expect(mayLead(actor)).toBe(true);
});

test('a no holds at once, also while it leads, and a new yes only after a new pause', async () => {
  const actor = candidacy('0.2.0');
  sees(actor, '0.2.0');
  await clock.advance(501);
  actor.send({ type: 'reign.began' });
  expect([actor.state(), mayLead(actor)]).toEqual(['entitled.leading', true]);
  sees(actor, '0.3.0');
  expect([actor.state(), mayLead(actor)]).toEqual(['barred.outdated', false]);
  actor.send({ type: 'reign.ended' });
  sees(actor, '0.3.0', false);
  expect(actor.state()).toBe('barred.entering');
  sees(actor, '0.2.0');
  expect(mayLead(actor)).toBe(false);
  await clock.advance(501);
  expect(actor.state()).toBe('entitled.campaigning');
});

test('a leadership that ended leaves the replica a candidate; a replica that ends is none', async () => {
  const actor = candidacy('0.2.0');
  sees(actor, '0.2.0');
  await clock.advance(501);
  actor.send({ type: 'reign.began' });
  actor.send({ type: 'reign.ended' });
  expect(actor.state()).toBe('entitled.campaigning');
  actor.send({ type: 'candidacy.ended' });
  sees(actor, '0.2.0');
  await clock.advance(1_000);
  expect([actor.state(), mayLead(actor)]).toEqual(['ended', false]);
});
