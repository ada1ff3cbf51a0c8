/** The development cluster's name server, asked as probes ask it. */
import { afterEach, expect, test } from 'vitest';
import { type DevDns, startDns } from '../../packages/dev-cluster/network/dns.ts';
import { readQuestion, writeAnswer } from '../../packages/dev-cluster/network/dns-message.ts';
import type { ServiceObject } from '../../packages/dev-cluster/objects.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubePort, KubeWatchEvent } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { lookupAt } from '../../src/features/routes/probe/lookup.ts';
import { settle, VirtualClock } from '../virtual-clock.ts';

let tell: (event: KubeWatchEvent) => void;
let dns: DevDns | undefined;
let version = 5;
afterEach(async () => {
  await dns?.stop();
  dns = undefined;
});

const service = (name: string, clusterIP: string): ServiceObject => ({
  metadata: { name, namespace: 'shop', uid: `${name}-uid`, resourceVersion: String(version++) },
  spec: { clusterIP },
});

function kubeWith(...items: ServiceObject[]): KubePort {
  const absent = () => Promise.reject(new OrreryError('KUBE_NOT_FOUND', 'not part of this test'));
  return {
    list: async () => ({ items, resourceVersion: '9', continue: '' }),
    watch: (_resource, _options, onEvent, signal) =>
      new Promise((_, reject) => {
        tell = onEvent;
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    get: absent,
    create: absent,
    ask: absent,
    replace: absent,
    patch: absent,
    delete: absent,
    resolve: absent,
  };
}

async function serve(...items: ServiceObject[]) {
  const parts = { clock: new VirtualClock(), random: seededRandom(1), log: silentLog };
  dns = await startDns({ ...parts, kube: kubeWith(...items) });
  await dns.started;
  await settle();
  return lookupAt(dns.address);
}

/** As node:http asks: every address, of whatever family. */
function ask(lookup: ReturnType<typeof lookupAt>, name: string): Promise<unknown> {
  return new Promise((resolve) =>
    lookup(name, { all: true }, (error, found) => resolve(error === null ? found : error.code)),
  );
}

test('the name of a Service leads to its cluster IP, in any case and whatever the domain of the cluster is', async () => {
  const lookup = await serve(service('web', '127.96.0.9'));
  const address = [{ address: '127.96.0.9', family: 4 }];
  expect(await ask(lookup, 'web.shop.svc.cluster.local')).toEqual(address);
  expect(await ask(lookup, 'WEB.Shop.svc.corp.example')).toEqual(address);
});

test('what is no Service, has no address or is no name of the cluster leads nowhere', async () => {
  const lookup = await serve(service('headless', 'None'));
  expect(await ask(lookup, 'web.shop.svc.cluster.local')).toBe('ENOTFOUND');
  expect(await ask(lookup, 'headless.shop.svc.cluster.local')).toBe('ENOTFOUND');
  expect(await ask(lookup, 'example.com')).toBe('EREFUSED');
});

test('a Service is found as soon as it is there, at its new address after a change, and not after its deletion', async () => {
  const lookup = await serve();
  const name = 'web.shop.svc.cluster.local';
  tell({ type: 'ADDED', object: service('web', '127.96.0.9') });
  expect(await ask(lookup, name)).toEqual([{ address: '127.96.0.9', family: 4 }]);
  tell({ type: 'MODIFIED', object: service('web', '127.96.0.10') });
  expect(await ask(lookup, name)).toEqual([{ address: '127.96.0.10', family: 4 }]);
  tell({ type: 'DELETED', object: service('web', '127.96.0.10') });
  expect(await ask(lookup, name)).toBe('ENOTFOUND');
});

test('one address is given to who asks for one', async () => {
  const lookup = await serve(service('web', '127.96.0.9'));
  const one = await new Promise((resolve) =>
    lookup('web.shop.svc.cluster.local', {}, (...answer) => resolve(answer)),
  );
  expect(one).toEqual([null, '127.96.0.9', 4]);
});

test('messages that are cut off, compressed or no questions are read as none', () => {
  const label = (text: string) => [text.length, ...Buffer.from(text)];
  const head = [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
  const whole = Uint8Array.from([...head, ...label('web'), ...label('shop'), 0, 0, 1, 0, 1]);
  expect(readQuestion(whole)).toMatchObject({ id: 7, name: 'web.shop', type: 1, isRecursionDesired: true });
  for (let length = 0; length < whole.length; length++)
    expect(readQuestion(whole.subarray(0, length))).toBeNull();
  const answer = whole.slice();
  answer[2] = 0x81;
  expect(readQuestion(answer)).toBeNull();
  expect(readQuestion(Uint8Array.from([...head, 0xc0, 12, 0, 1, 0, 1]))).toBeNull();
});

test('an answer repeats the question and says how many addresses follow', () => {
  const question = readQuestion(Uint8Array.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1]));
  if (question === null) throw new Error('the question is one');
  const found = [...writeAnswer(question, ['127.96.0.9'])];
  expect(found.slice(0, 12)).toEqual([0, 7, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  expect(found.slice(-4)).toEqual([127, 96, 0, 9]);
  expect([...writeAnswer(question, 'absent')].slice(2, 8)).toEqual([0x85, 0x83, 0, 1, 0, 0]);
});
