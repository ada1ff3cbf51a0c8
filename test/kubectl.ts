/**
 * A real kubectl for tests, as a person uses it: KUBECTL, the first on PATH, or the one that set-up fetched.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { findKubectl } from '../scripts/setup/kubectl.mjs';

const found = findKubectl(join(import.meta.dirname, '..'), process.env);

/** Tests with kubectl are skipped without one; `npm test` fetches one if it can. */
export const hasKubectl = found !== undefined;
export const kubectlProgram = found ?? 'kubectl';

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Nothing of the tester's own configuration and cache has any influence.
 * @param home a folder of the test
 */
export const kubectlEnvironment = (home: string, kubeconfig: string): NodeJS.ProcessEnv => ({
  ...process.env,
  HOME: home,
  KUBECONFIG: kubeconfig,
  KUBECACHEDIR: join(home, 'kubectl-cache'),
});

export function runKubectl(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Said> {
  return new Promise((resolve) => {
    const child = execFile(kubectlProgram, [...args], { env, timeout: 20_000 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
    );
    child.stdin?.end(input);
  });
}
