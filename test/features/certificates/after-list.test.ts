/** Effects that need an Issuer, in a replica whose world is not listed again yet. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../packages/testing/time/virtual-clock.ts';
import type { EffectContext } from '../../../src/actors/effect-runner.ts';
import { afterList } from '../../../src/features/certificates/effects/after-list.ts';

function scene() {
  const clock = new VirtualClock();
  const aborting = new AbortController();
  const state = { isListed: false, ran: 0 };
  const statement = () => (state.isListed ? ({} as never) : null);
  const run = async () => {
    state.ran += 1;
    return { type: 'issuer.verified' };
  };
  const [effect] = afterList({ world: { statement }, clock }, [{ type: 'issuer.verify', run }]);
  const context = { key: 'k', actor: 'issuer/_/one', signal: aborting.signal, emit: () => {} };
  const outcome = () => effect?.run({ type: 'issuer.verify' }, context as EffectContext);
  return { clock, aborting, state, outcome };
}

test('what is left to be done runs once Issuers are listed: an unknown one is not a missing one', async () => {
  const { clock, state, outcome } = scene();
  const settled = outcome();
  await clock.advance(5_000);
  expect(state.ran).toBe(0);
  state.isListed = true;
  await clock.advance(100);
  expect(await settled).toEqual({ type: 'issuer.verified' });
});

test('it waits for nothing where they are', async () => {
  const { state, outcome } = scene();
  state.isListed = true;
  expect(await outcome()).toEqual({ type: 'issuer.verified' });
});

test('it waits no longer than its shard is here', async () => {
  const { clock, aborting, state, outcome } = scene();
  const waiting = expect(outcome()).rejects.toThrow('the shard has gone');
  aborting.abort(new Error('the shard has gone'));
  await clock.advance(100);
  await waiting;
  expect(state.ran).toBe(0);
});
