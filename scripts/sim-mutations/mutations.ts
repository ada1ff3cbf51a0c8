/**
 * Ways to break the program, as data. Each place must occur exactly once in its file; otherwise the run says
 * so.
 */

import { featureMutations } from './feature-mutations.ts';
import type { Mutation } from './mutation.ts';

const engineMutations: ReadonlyArray<Omit<Mutation, 'feature'>> = [
  {
    name: 'saves are not guarded by the fence',
    changes: [
      {
        file: 'src/actors/host/saver.ts',
        find: 'ttlSeconds === undefined ? { guard } : { guard, ttlSeconds }',
        replace: 'ttlSeconds === undefined ? {} : { ttlSeconds }',
      },
    ],
  },
  {
    name: 'effects run before the step is saved',
    changes: [
      {
        file: 'src/actors/host/host.ts',
        find: 'sequence = await traced(span, this.#store(cell, next.record, bytes, onStored));',
        replace:
          'this.#consequences.perform(cell, hot, next.newEffects);\n      sequence = await traced(span, this.#store(cell, next.record, bytes, onStored));',
      },
      {
        file: 'src/actors/host/host.ts',
        find: "if (shard.phase === 'active') this.#consequences.perform(cell, hot, newEffects, span?.context);",
        replace: '',
      },
    ],
  },
  {
    name: 'deadlines are forgotten when a shard is taken over',
    changes: [
      {
        file: 'src/actors/host/host.ts',
        find: 'for (const timer of record.timers) this.#timers.add(timer, { cell, id: timer.id });',
        replace: '',
      },
    ],
  },
  {
    name: 'outboxes are not run again after a claim',
    changes: [
      {
        file: 'src/actors/host/host.ts',
        find: 'this.#consequences.perform(cell, hot, record.outbox);',
        replace: '',
      },
    ],
  },
  {
    name: 'proofs are forgotten when a shard moves',
    changes: [
      {
        file: 'src/actors/shards/shard-store.ts',
        find: 'return [{ id, sequence, data, storedAt, record: unpackRecord(data, id) }];',
        replace: `const read = unpackRecord(data, id);
    const context = { ...read.snapshot.context, ...(id.startsWith('pod/') ? { proofs: {} } : {}) };
    const record = { ...read, snapshot: { ...read.snapshot, context } };
    return [{ id, sequence, data: packRecord(record), storedAt, record }];`,
      },
    ],
  },
  {
    name: 'a claim that failed is not made again',
    changes: [
      {
        file: 'src/actors/shards/ownership.ts',
        find: 'if (failedAt > pausedAfter || !this.#mayClaim(spec, isMine)) continue;',
        replace: 'if (failedAt > 0 || !this.#mayClaim(spec, isMine)) continue;',
      },
    ],
  },
  {
    name: 'mail is not checked for repetitions',
    changes: [
      {
        file: 'src/actors/host/cell.ts',
        find: 'if (mail !== undefined && mail <= record.mail) return true;',
        replace: '',
      },
      {
        file: 'src/actors/host/cell.ts',
        find: 'return messageId !== undefined && isRemembered(record.recentIds, messageId);',
        replace: 'return false;',
      },
    ],
  },
  {
    name: 'mail counts as taken before the step is saved',
    changes: [
      {
        file: 'src/actors/shards/mail.ts',
        find: '  begin(run.mail, sequence);',
        replace: '  run.mail.begun = Math.max(run.mail.begun, sequence);',
      },
    ],
  },
  {
    name: 'the feed is not published again after a crash',
    changes: [
      {
        file: 'src/actors/host/host.ts',
        find: 'if (loadedAs !== undefined) this.#consequences.publishLoaded(cell, hot, loadedAs);',
        replace: '',
      },
    ],
  },
  {
    name: 'a Pod is marked as soon as one Service is proven',
    changes: [
      {
        file: 'src/machines/pod/pod-context.ts',
        find: 'if (!provable(facts) || unproven(context).length > 0 || context.lastLeft) return false;',
        replace:
          'if (!provable(facts) || (unproven(context).length > 0 && Object.keys(context.proofs).length === 0)) return false;',
      },
    ],
  },
  {
    name: 'an answer is credited to whoever asked, not to whoever answered',
    changes: [
      {
        file: 'src/machines/service/route-rounds.ts',
        find: 'const want = wants.findLast(({ ip }) => ip === one);',
        replace: 'const want = wants.at(-1);',
      },
    ],
  },
  {
    name: 'a save of unknown outcome counts as stored',
    changes: [
      {
        file: 'src/actors/host/saver.ts',
        find: "if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_REFUSED')) return null;",
        replace:
          "if (hasCode(error, 'BUS_UNKNOWN_OUTCOME')) return 0;\n    if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_REFUSED')) return null;",
      },
    ],
  },
  {
    name: 'a save of unknown outcome is simply tried again',
    changes: [
      {
        file: 'src/actors/host/saver.ts',
        find: "if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_REFUSED')) return null;",
        replace: "if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_REFUSED', 'BUS_UNKNOWN_OUTCOME')) return null;",
      },
    ],
  },
  {
    name: 'actors are told facts before the picture is complete',
    changes: [
      {
        file: 'src/features/routes/routes-join.ts',
        find: 'const isComplete = (gate: Gate) => isOwnListed(gate) && isOwnerListed(gate);',
        replace: 'const isComplete = (_gate: Gate) => true;',
      },
    ],
  },
  {
    name: 'a new owner does not wait for the world that the old one knew',
    changes: [
      {
        file: 'src/actors/shards/shard-work.ts',
        find: 'world.reached(run.world)',
        replace: 'Promise.resolve()',
      },
    ],
  },
  {
    name: 'an acknowledgement counts however late it is read',
    changes: [
      {
        file: 'src/actors/host/saver.ts',
        find: 'if (tookMs <= limits.appendTimeoutMs) return;',
        replace: 'if (tookMs >= 0) return;',
      },
    ],
  },
  {
    name: 'the condition is patched whatever Pod has the name now',
    changes: [
      {
        file: 'src/features/routes/effects/pod-condition.ts',
        find: 'return { metadata: { uid }, status',
        replace: 'return { metadata: {}, status',
      },
    ],
  },
  {
    name: 'a condition that was taken away is written again whatever is missing',
    changes: [
      {
        file: 'src/machines/pod/pod-states.ts',
        find: "lookAgain: { guard: 'isUnseen', actions: 'dropAdopted', target: '#pod.gated.proving' },",
        replace: "lookAgain: { guard: 'isUnseen', target: '#pod.gated.marking' },",
      },
    ],
  },
  {
    name: 'a Service that goes tells nobody whom it forgets',
    changes: [
      {
        file: 'src/machines/service/routes-region.ts',
        find: "actions: ['tellForgotten', 'forgetRoutes']",
        replace: "actions: ['forgetRoutes']",
      },
    ],
  },
  {
    name: 'a fence that cannot be read ends the replica',
    changes: [
      {
        file: 'src/actors/shards/fence-book.ts',
        find: 'return nobodysFence;',
        replace: "throw new Error('this fence cannot be read');",
      },
    ],
  },
  {
    name: 'a fence that was asked for replaces one that was heard since',
    changes: [
      {
        file: 'src/actors/shards/fence-book.ts',
        find: 'if (known.get(subject) !== before) return;',
        replace: '',
      },
    ],
  },
  {
    name: 'a mail stream that was made anew is read from where the old one ended',
    changes: [
      {
        file: 'src/actors/shards/shard-store.ts',
        find: 'if (isSame && furthest <= stream.lastSequence) {',
        replace: 'if (known !== null) {',
      },
    ],
  },
];

export const mutations: readonly Mutation[] = [
  ...engineMutations.map((mutation) => ({ feature: 'routes', ...mutation })),
  ...featureMutations,
];
