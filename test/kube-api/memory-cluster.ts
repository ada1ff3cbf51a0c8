/** For the tests: a development API server on a clock that only the test moves, and a client. */

import { type KubeApi, type KubeApiParts, startKubeApi } from '../../packages/kube-api/server.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Client } from '../conformance/client.ts';
import { readKubeconfig } from '../conformance/kubeconfig.ts';
import { VirtualClock } from '../virtual-clock.ts';

export interface MemoryCluster extends AsyncDisposable {
  readonly server: KubeApi;
  readonly api: Client;
  readonly clock: VirtualClock;
}

export async function memoryCluster(options: Partial<KubeApiParts> = {}): Promise<MemoryCluster> {
  const clock = new VirtualClock();
  const server = await startKubeApi({ clock, random: seededRandom(1), ...options });
  const api = new Client(readKubeconfig(server.kubeconfig(), '.'));
  return {
    server,
    api,
    clock,
    async [Symbol.asyncDispose]() {
      api.close();
      await server.stop();
    },
  };
}

export const secrets = '/api/v1/namespaces/default/secrets';
