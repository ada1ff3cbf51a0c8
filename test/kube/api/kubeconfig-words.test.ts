/** Whoever gave no `--kubeconfig` is told where the path of an unusable kubeconfig comes from. */
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { kubeAccess } from '../../../src/kube/api/kube-connection.ts';

const kubeconfig = '/nowhere/config';
const use = () => kubeAccess({ kubeconfig, clock: systemClock, random: systemRandom });

afterEach(() => vi.unstubAllEnvs());

test('a kubeconfig that cannot be read is named', () => {
  vi.stubEnv('KUBECONFIG', '/another/config');
  expect(use).toThrow(/^the kubeconfig \/nowhere\/config cannot be used: /);
});

test.each(['KUBECONFIG', 'ORRERY_KUBECONFIG'])('so is the variable %s that names it', (variable) => {
  vi.stubEnv(variable, kubeconfig);
  expect(use).toThrow(`the kubeconfig ${kubeconfig} (from ${variable}) cannot be used: `);
});
