/** Who answers for an actor whose shard is not open here: never nobody. */
import { expect, test } from 'vitest';
import { leaveToOwner } from '../../../src/actors/control/owner-elsewhere.ts';

type Engine = Parameters<typeof leaveToOwner>[0];

const asked =
  (owner: string | null, phase: 'loading' | 'draining' | 'closed' | null, its = 'one') =>
  () =>
    leaveToOwner(
      {
        parts: { replica: 'here', homes: { homeOf: () => 7 } },
        ownership: { ownerOf: () => owner },
        directory: {
          live: () =>
            new Map([
              ['here', { store: 'one', shards: [] }],
              ['there', { store: its, shards: [7] }],
            ]),
          all: () => ['here', 'there', 'leaving', 'gone'].map((replica) => ({ replica, incarnation: '1' })),
          isPresent: (name: string) => name !== 'gone',
        },
        shards: { runOf: () => (phase === null ? null : { phase }) },
      } as unknown as Engine,
      'pod/shop/web-0',
    );

test.each([
  ['there', null],
  ['there', 'draining'],
  ['there', 'closed'],
  ['leaving', null],
] as const)('another replica that owns the shard answers: owner %s, run %s', (owner, phase) => {
  expect(asked(owner, phase)()).toBe(undefined);
});

test.each([
  ['here', 'loading', 'is moving'],
  ['here', 'draining', 'is moving'],
  ['here', null, 'is moving'],
  ['there', 'loading', 'is moving'],
  [null, null, 'has no owner at the moment'],
  ['gone', 'closed', 'has no owner at the moment'],
] as const)('otherwise this replica says so: owner %s, run %s', (owner, phase, what) => {
  const message = `shard 7 of pod/shop/web-0 ${what}; try again`;
  expect(asked(owner, phase)).toThrow(expect.objectContaining({ code: 'NOT_OWNER', message }));
});

test('a replica that works with other streams and has the shard answers, whatever the fences here say', () => {
  expect(asked(null, null, 'another')()).toBe(undefined);
});
