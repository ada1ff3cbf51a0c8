/** Why a release stands as it stands, in each of its states. */
import { expect, test } from 'vitest';
import { explainRelease } from '../../../src/machines/release/release-telling.ts';
import { toldOf } from '../told.ts';
import { broken, bundle, clean, ledBy, node, nothing, Release, seen, status } from './release-script.ts';

const local = bundle('0.3.0', '0.2.0');
const unsuited = { bundle: bundle('0.3.0', '0.3.0'), seen: seen(status('Done', '0.2.0', '0.1.0')) };
const told = (release: Release, since?: number) => toldOf('release', release, since);

test('no leader yet, and none any more', () => {
  const release = new Release().take({
    type: 'release.led',
    ...unsuited,
    fence: 0,
    replica: 'a',
    nodes: [],
    epoch: 0,
  });
  expect(told(release)).toMatchObject({ health: 'ok', text: 'no replica leads the releases yet', facts: {} });
  const retired = ledBy({ bundle: local }).take({ type: 'release.retired' });
  const [write] = retired.askedOf('release-resource.write');
  expect(write?.status).toMatchObject({ leader: '', waitingFor: null });
  expect(write?.conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
    ['Applied', 'False', 'Retired'],
    ['AllReplicasServe', 'True', 'Suited'],
    ['AllReplicasHaveBundle', 'True', 'Alike'],
  ]);
  expect(told(retired).text).toBe('the replicas now have a bundle with another name than platform');
});

test('waiting for nodes names them; after half a minute it is wrong; nothing comes by itself', () => {
  const release = ledBy({ ...unsuited, nodes: [node('orrery-0', '0.1.0'), node('orrery-1', '0.3.0')] });
  const [write] = release.askedOf('release-resource.write');
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'release 0.3.0 waits: orrery-0 (0.1.0) is older than 0.3.0 (minServingRelease)',
    next: null,
    facts: { 'Waiting for': 'orrery-0 (0.1.0) is older than 0.3.0 (minServingRelease)', Leader: 'orrery-1' },
  });
  // The condition and the Event say the same.
  expect(write?.note?.text).toBe(told(release).text);
  expect(told(release.wait(30_000))).toMatchObject({ health: 'wrong', text: write?.note?.text });
  expect(write?.conditions[0]).toMatchObject({ reason: 'Waiting', message: told(release).text });
});

test('before it applies anything', () => {
  const release = ledBy({ ...unsuited, nodes: [] });
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'orrery-1 writes what release 0.3.0 will change',
  });
  release.take({ type: 'status.unknown', fence: 7, message: 'no answer' });
  expect(told(release).text).toBe('orrery-1 writes what release 0.3.0 will change, after no answer');
  release.wait(1_000).writes();
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'orrery-1 leads, and waits for requests of a former leader to finish',
    next: { text: 'release 0.3.0 is applied', at: release.now + 5_000 },
  });
});

test('the first round, its failure and its success', () => {
  const release = ledBy({ bundle: local });
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'orrery-1 applies release 0.3.0: 3 objects',
    facts: { Written: 'nothing', Release: '0.3.0', Objects: 3 },
  });
  release.round(broken);
  expect(told(release)).toMatchObject({
    health: 'wrong',
    text: 'release 0.3.0 is not applied: 1 object failed: ConfigMap shop/a: no',
    next: { text: 'the round is repeated', at: release.now + (release.patience ?? 0) },
  });
  release.wait(release.patience ?? 0).round(clean);
  expect(told(release).text).toBe('release 0.3.0 is applied: 3 objects; that is being written');
  release.writes();
  expect(told(release)).toMatchObject({
    health: 'ok',
    text: 'release 0.3.0 is applied: 3 objects',
    next: { text: 'the objects are compared again', at: release.now + 30_000 },
    facts: { Written: 'Done, release 0.3.0, at least 0.2.0', Applied: release.now },
  });
});

test('later rounds: a failure is wrong until the next success, also while nothing is under way', () => {
  const release = ledBy({ bundle: local }).round(clean);
  release.writes();
  release.wait(30_000);
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'orrery-1 compares 3 objects with release 0.3.0',
  });
  release.round(broken);
  const failing = told(release);
  expect(failing).toMatchObject({
    health: 'wrong',
    text: 'release 0.3.0 is not applied: 1 object failed: ConfigMap shop/a: no',
    next: { at: release.now + 30_000 },
  });
  const write = release.askedOf('release-resource.write').at(-1);
  expect(write?.conditions[0]).toMatchObject({ status: 'False', reason: 'Failing', message: failing.text });
  release.wait(30_000);
  expect(told(release).text).toMatch(/compares .*, after a failed round: 1 object failed/);
  const drift = { type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' } as const;
  release.take(drift).round(clean);
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'ConfigMap shop/a drifted right after a round; the next one waits a second',
    facts: { Drifted: 'ConfigMap shop/a' },
  });
  for (let fight = 0; fight < 12; fight++) release.wait(2_000).round(clean).take(drift);
  expect(told(release.wait(2_000))).toMatchObject({
    health: 'wrong',
    text: expect.stringMatching(/^ConfigMap shop\/a drifted 12 times in a row/),
    next: { at: release.now + 2_000 },
  });
});

test('one that was deposed says so', () => {
  const release = ledBy(unsuited).take({ type: 'status.refused', fence: 7, by: 'leadership' });
  expect(told(release)).toMatchObject({
    health: 'waiting',
    text: 'another replica leads now instead of orrery-1',
  });
});

test('each replica, and whether it may lead: as a fact and in orrery explain', () => {
  const release = ledBy({
    bundle: local,
    seen: nothing,
    nodes: [
      node('orrery-0', '0.1.0'),
      node('orrery-1', '0.3.0'),
      node('orrery-2', '0.3.0'),
      { replica: 'orrery-3', release: '0.2.0', bundle: null },
    ],
  });
  const replicas = [
    'orrery-0 0.1.0 (may not lead: older than 0.3.0)',
    'orrery-1 0.3.0 (leads)',
    'orrery-2 0.3.0 (may lead)',
    'orrery-3 0.2.0 (no bundle: never leads)',
  ];
  expect(told(release).facts.Replicas).toBe(replicas.join('\n'));
  expect(explainRelease(release.context)).toContain(`replicas: ${replicas.join(', ')}`);
});

test('a Release that cannot be written for five minutes needs a look, though all is applied, under any leader', () => {
  const release = ledBy({ bundle: local }).round(clean);
  release.writes();
  const settled = { type: 'effect.settled', effect: 'release-resource.write' } as const;
  const error = 'GET /apis was answered with 404: the API server has no such kind';
  for (let n = 0; n < 10; n++) {
    release.take({ ...settled, error }, { type: 'effect.settled', effect: 'x', error: null });
    release.wait(30_000).round(clean);
  }
  expect(told(release)).toMatchObject({ health: 'ok', text: expect.stringContaining(error) });
  release.take({ ...settled, error });
  expect(told(release)).toMatchObject({
    health: 'wrong',
    text: expect.stringContaining('; install the def'),
  });
  release.take({ type: 'release.led', ...unsuited, fence: 8, replica: 'b', nodes: [], epoch: 1 });
  expect(told(release).health).toBe('wrong');
  release.take({ ...settled, error: null });
  expect(told(release)).toMatchObject({ health: 'waiting', text: expect.not.stringContaining(error) });
});
