/**
 * A plain kubectl against the development API server, as a person uses it (test/kubectl.ts says which one);
 * without one these tests are skipped.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type KubeApi, startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { uniqueName } from '../conformance/conformance.ts';
import { hasKubectl, kubectlEnvironment, kubectlProgram as program, runKubectl } from '../kubectl.ts';
import { until } from '../until.ts';

const title = hasKubectl ? 'kubectl' : 'kubectl (skipped: there is none on PATH, and KUBECTL names none)';
let folder = '';
let api: KubeApi;
let namespace = '';

const environment = () => kubectlEnvironment(folder, join(folder, 'kubeconfig'));
const run = (args: readonly string[], input = '', extra: Record<string, string> = {}) =>
  runKubectl(['--namespace', namespace, ...args], { ...environment(), ...extra }, input);

/** Runs it, and expects that it succeeds. */
async function kubectl(command: string, input = '', extra: Record<string, string> = {}): Promise<string> {
  const said = await run(wordsOf(command), input, extra);
  expect(said, command).toMatchObject({ code: 0 });
  return said.out.trimEnd();
}

/** Words of a command; quoted ones may hold blanks. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** Words of each line of a table. */
function cellsOf(table: string): string[][] {
  return table.split('\n').map((line) => line.trim().split(/ {2,}/));
}

const service = (...ports: ReadonlyArray<readonly [string, number]>) => `
apiVersion: v1
kind: Service
metadata: { name: web }
spec:
  ports: [${ports.map(([name, port]) => `{ name: ${name}, port: ${port} }`).join(', ')}]
`;

beforeAll(async () => {
  if (!hasKubectl) return;
  folder = mkdtempSync(join(tmpdir(), 'orrery-kubectl-'));
  api = await startKubeApi({ clock: systemClock, random: systemRandom });
  writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig(), { mode: 0o600 });
});

afterAll(async () => {
  if (!hasKubectl) return;
  await api.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  if (!hasKubectl) return;
  namespace = uniqueName('kubectl');
  await kubectl(`create namespace ${namespace}`);
});

describe.skipIf(!hasKubectl)(title, () => {
  test('believes the server by its certificate, and brings the token', async () => {
    expect(await kubectl('get --raw /readyz')).toBe('ok');
    expect(await kubectl('version')).toMatch(/Server Version: v1\.\d+/);
    const stranger = await run(['get', 'pods', '--token', 'wrong']);
    expect(stranger.err).toContain('You must be logged in to the server');
  });

  test('get shows columns, wide ones, names, fields of choice, and sorts', async () => {
    await kubectl('create service clusterip b --tcp=80');
    await kubectl('create service nodeport a --tcp=81:8080');
    const [head, first, second] = cellsOf(await kubectl('get services'));
    expect(head).toEqual(['NAME', 'TYPE', 'CLUSTER-IP', 'EXTERNAL-IP', 'PORT(S)', 'AGE']);
    expect([first?.[0], second?.[0]]).toEqual(['a', 'b']);
    expect(cellsOf(await kubectl('get svc b -o wide'))[1]?.at(-1)).toBe('app=b');
    expect(await kubectl('get svc -o name')).toBe('service/a\nservice/b');
    const sorted = await kubectl(
      "get svc --sort-by={.spec.ports[0].port} --no-headers -o 'custom-columns=N:.metadata.name,P:.spec.ports[0].port'",
    );
    expect(cellsOf(sorted)).toEqual([
      ['b', '80'],
      ['a', '81'],
    ]);
    expect(await kubectl('get svc -l app=a -o name')).toBe('service/a');
    expect(await kubectl('get svc --field-selector metadata.name=b -o name')).toBe('service/b');
    expect(await kubectl('get all -A -o name')).toContain('service/kubernetes');
  });

  test('get --watch prints a line for each change', async () => {
    const child = spawn(program, ['-n', namespace, 'get', 'configmaps', '--watch'], { env: environment() });
    let seen = '';
    child.stdout.on('data', (piece: Buffer) => {
      seen += piece.toString();
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await kubectl('create configmap a --from-literal=x=1');
    await until(() => /^a +1 /m.test(seen), { what: 'the new one' });
    await kubectl('patch configmap a -p {"data":{"y":"2"}}');
    await until(() => /^a +2 /m.test(seen), { what: 'the changed one' });
    child.kill();
    await ended;
    expect(seen.match(/NAME/g)).toHaveLength(1);
  });

  test('knows short names, categories and kinds of definitions, and explains fields', async () => {
    const known = cellsOf(await kubectl('api-resources')).map((cells) => cells.join(' '));
    expect(known).toContain('deployments deploy apps/v1 true Deployment');
    expect(known).toContain('namespaces ns v1 false Namespace');
    expect(await kubectl('explain pods.spec.containers.image')).toContain('image <string>');
    await kubectl('apply -f deploy/crds');
    await kubectl('wait --for=condition=Established crd/routegates.orrery.dev');
    expect(await kubectl('explain routegates.spec')).toContain('conditionType\t<string> -required-');
    expect(await kubectl('get routegates')).toBe('');
  });

  test('apply merges what it applied before, by the keys of the lists', async () => {
    await kubectl('apply -f -', service(['a', 80], ['b', 81]));
    expect(await kubectl('apply -f -', service(['a', 80], ['b', 81]))).toBe('service/web unchanged');
    await kubectl(
      'patch service web --type json -p [{"op":"add","path":"/metadata/labels","value":{"l":"v"}}]',
    );
    expect((await run(['diff', '-f', '-'], service(['b', 81], ['c', 82]))).out).toContain('name: c');
    expect(await kubectl('apply -f -', service(['b', 81], ['c', 82]))).toBe('service/web configured');
    const shown = await kubectl("get service web -o 'jsonpath={.spec.ports[*].name} {.metadata.labels.l}'");
    expect(shown).toBe('b c v');
    const unknown = await run(['apply', '-f', '-'], service(['b', 81]).replace('ports', 'prts'));
    expect(unknown.err).toContain('unknown field "spec.prts"');
  });

  test('apply says what is missing when there is no such kind', async () => {
    const nobody = 'apiVersion: nobody.example.com/v1\nkind: Nobody\nmetadata: { name: a }\n';
    expect((await run(['apply', '-f', '-'], nobody)).err).toContain('ensure CRDs are installed first');
  });

  test('apply --server-side creates and changes', async () => {
    const apply = (text: string) => kubectl('apply --server-side -f -', text);
    expect(await apply(service(['a', 80]))).toBe('service/web serverside-applied');
    await apply(service(['a', 8080]));
    expect(await kubectl('get service web -o jsonpath={.spec.ports[0].port}')).toBe('8080');
  });

  test('create sends protobuf, and the server reads it', async () => {
    await kubectl('create configmap c --from-literal=x=1');
    expect(await kubectl('get configmap c -o jsonpath={.data}')).toBe('{"x":"1"}');
    await kubectl('create secret generic s --from-literal=x=1');
    expect(await kubectl('get secret s -o jsonpath={.data.x}')).toBe('MQ==');
    await kubectl('create deployment d --image=example.com/a:1 --replicas=0 --port=80');
    const path =
      '{.spec.replicas} {.spec.template.spec.containers[0].ports[0].containerPort} {.spec.strategy.rollingUpdate.maxSurge}';
    expect(await kubectl(`get deploy d -o 'jsonpath=${path}'`)).toBe('0 80 25%');
  });

  test('changes objects in all of its ways', async () => {
    await kubectl('create deployment d --image=example.com/a:1');
    await kubectl('scale deploy/d --replicas=3');
    await kubectl('label deploy/d l=v');
    await kubectl('annotate deploy/d n=w');
    await kubectl('set image deploy/d a=example.com/a:2');
    await kubectl('rollout restart deploy/d');
    await kubectl('patch deploy d --subresource=status --type=merge -p {"status":{"replicas":1}}');
    const path =
      '{.spec.replicas} {.metadata.labels.l} {.metadata.annotations.n} {.spec.template.spec.containers[*].image} {.status.replicas}';
    expect(await kubectl(`get deploy d -o 'jsonpath=${path}'`)).toBe('3 v w example.com/a:2 1');
    const editor = join(folder, 'editor');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/example.com.a:2/example.com\\/b:7/" "$1"\n');
    chmodSync(editor, 0o700);
    await kubectl('edit deploy d', '', { KUBE_EDITOR: editor });
    expect(await kubectl('get deploy d -o jsonpath={.spec.template.spec.containers[*].image}')).toBe(
      'example.com/b:7',
    );
    await kubectl('label deploy/d l-');
    const whole = await kubectl('get deploy d -o json');
    await kubectl('replace -f -', whole);
    await kubectl('delete deploy d --cascade=foreground');
    expect((await run(['get', 'deploy', 'd'])).err).toContain('deployments.apps "d" not found');
  });

  test('describe tells of an object and of its Events', async () => {
    await kubectl('run p --image=example.com/a:1');
    const uid = await kubectl('get pod p -o jsonpath={.metadata.uid}');
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'p.1', namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: 'p', uid },
      reason: 'Noticed',
      message: 'this Pod was noticed',
      type: 'Normal',
    };
    await kubectl('create -f -', JSON.stringify(event));
    const told = await kubectl('describe pod p');
    expect(told).toMatch(/Image: +example\.com\/a:1/);
    expect(told).toMatch(/Normal +Noticed .*this Pod was noticed/);
    expect(await kubectl('events --for pod/p')).toContain('Noticed');
    expect(await kubectl('get events.v1.events.k8s.io')).toContain('Noticed');
  });

  test('waits for conditions, fields and ends', async () => {
    await kubectl('run p --image=example.com/a:1');
    const waits = Promise.all([
      kubectl('wait --for=condition=Ready pod/p --timeout=15s'),
      kubectl("wait '--for=jsonpath={.status.phase}=Running' pod/p --timeout=15s"),
    ]);
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await kubectl(`patch pod p --subresource=status --type=merge -p '${JSON.stringify({ status })}'`);
    expect(await waits).toEqual(['pod/p condition met', 'pod/p condition met']);
    const gone = kubectl('wait --for=delete pod/p --timeout=15s');
    await kubectl('delete pod p --now');
    await gone;
    await kubectl(`delete namespace ${namespace}`);
  });

  test('says why there are no logs', async () => {
    await kubectl('run p --image=example.com/a:1');
    expect((await run(['logs', 'p'])).err).toContain('Pods of the development cluster have no containers');
  });
});
