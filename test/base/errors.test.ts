import { expect, test } from 'vitest';
import { connectionFault, hasCode, OrreryError } from '../../src/base/errors.ts';

test('an error is known by its code, also if another build of the program made it', () => {
  const other = Object.assign(new Error('gone'), { name: 'OrreryError', code: 'KUBE_NOT_FOUND', facts: {} });
  for (const error of [new OrreryError('KUBE_NOT_FOUND', 'gone'), other]) {
    expect(hasCode(error, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT')).toBe(true);
    expect(hasCode(error, 'KUBE_CONFLICT')).toBe(false);
  }
});

test.each([
  null,
  undefined,
  'KUBE_NOT_FOUND',
  { name: 'OrreryError', code: 'KUBE_NOT_FOUND' },
  Object.assign(new Error('of the system'), { code: 'KUBE_NOT_FOUND' }),
])('what is no error of ours has none of its codes: %o', (thrown) => {
  expect(hasCode(thrown, 'KUBE_NOT_FOUND')).toBe(false);
});

test('a failed connection says why: also to a name with several addresses, whose error has no message', () => {
  const both = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error('other')], '');
  expect(connectionFault(both)).toBe('connection refused');
  expect(connectionFault(new Error('aborted'))).toBe('the connection was cut');
  expect(connectionFault(Object.assign(new Error(''), { code: 'EWHAT' }))).toBe('EWHAT');
});
