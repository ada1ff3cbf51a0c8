import { describe, expect, test } from 'vitest';
import { Tokens } from '../../packages/kube-api/access/tokens.ts';
import { mastersGroup } from '../../packages/kube-api/access/users.ts';
import { Store } from '../../packages/kube-api/storage/store.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../virtual-clock.ts';

function setUp() {
  const clock = new VirtualClock();
  const store = new Store(10);
  const tokens = new Tokens({ clock, random: seededRandom(1), store }, 'secret');
  const put = (uid: string) =>
    store.put('serviceaccounts', {
      metadata: { name: 'robot', namespace: 'n', uid, resourceVersion: '', creationTimestamp: '' },
    });
  put('u');
  const issue = () => tokens.issue({ namespace: 'n', name: 'robot', uid: 'u' }, ['a'], clock.now() + 1000);
  return { clock, store, tokens, put, issue };
}

describe('a token', () => {
  test('ends with its time', async () => {
    const { clock, tokens, issue } = setUp();
    const token = issue();
    await clock.advance(999);
    expect(tokens.find(token)?.user.name).toBe('system:serviceaccount:n:robot');
    await clock.advance(1);
    expect(tokens.find(token)).toBeUndefined();
  });

  test('ends with its account, also if another one has its name', () => {
    const { store, tokens, put, issue } = setUp();
    const token = issue();
    store.remove('serviceaccounts', { namespace: 'n', name: 'robot' });
    expect(tokens.find(token)).toBeUndefined();
    put('other');
    expect(tokens.find(token)).toBeUndefined();
  });

  test('of the administrator is in the group that may do everything; no other is', () => {
    const { tokens, issue } = setUp();
    expect(tokens.find('secret')?.user.groups).toContain(mastersGroup);
    expect(tokens.find(issue())?.user.groups).not.toContain(mastersGroup);
    expect(tokens.find('secret2')).toBeUndefined();
  });
});
