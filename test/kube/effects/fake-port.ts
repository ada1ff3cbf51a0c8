/** A KubePort whose calls the test answers; unexpected calls fail. */
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';

export function fakePort(answers: Partial<KubePort>): KubePort {
  const unexpected = (): never => {
    throw new OrreryError('INVARIANT', 'the test does not expect this call');
  };
  return {
    list: unexpected,
    watch: unexpected,
    get: unexpected,
    create: unexpected,
    ask: unexpected,
    replace: unexpected,
    patch: unexpected,
    delete: unexpected,
    resolve: unexpected,
    ...answers,
  };
}

export const context = {
  key: 'pod/shop/web-0/7/0',
  actor: 'pod/shop/web-0',
  signal: new AbortController().signal,
  emit: () => {},
} as const;
