import { describe, expect } from 'vitest';
import type { Client, Json, JsonObject } from './client.ts';
import { pod, uniqueName } from './conformance.ts';
import { accept, cellsOf, columns, rows } from './table.ts';
import { define, definitionOf, definitions, test } from './things.ts';

describe('the row of', () => {
  const now = () => new Date(Date.parse('2020-01-01T00:00:00Z')).toISOString();
  const running = (more: JsonObject = {}) => ({
    name: 'main',
    image: 'i',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: now() } },
    ...more,
  });
  const ended = (exitCode: number, more: JsonObject = {}) =>
    running({ ready: false, state: { terminated: { exitCode, ...more } } });
  const waiting = (reason: string) => running({ ready: false, state: { waiting: { reason } } });

  test.for([
    ['nothing told', {}, '0/1', 'Pending'],
    ['a running container', { phase: 'Running', containerStatuses: [running()] }, '1/1', 'Running'],
    ['one that waits', { containerStatuses: [waiting('ImagePullBackOff')] }, '0/1', 'ImagePullBackOff'],
    ['one that failed', { phase: 'Failed', containerStatuses: [ended(3)] }, '0/1', 'ExitCode:3'],
    ['one that was killed', { containerStatuses: [ended(137, { signal: 9 })] }, '0/1', 'Signal:9'],
    [
      'one that is done',
      { phase: 'Succeeded', containerStatuses: [ended(0, { reason: 'Completed' })] },
      '0/1',
      'Completed',
    ],
    ['a reason of its own', { phase: 'Failed', reason: 'Evicted' }, '0/1', 'Evicted'],
    [
      'an init container at work',
      { initContainerStatuses: [running({ name: 'init', ready: false })] },
      '0/1',
      'Init:0/1',
    ],
    [
      'an init container that failed',
      { initContainerStatuses: [{ ...ended(1, { reason: 'Error' }), name: 'init' }] },
      '0/1',
      'Init:Error',
    ],
    [
      'an init container that is done',
      {
        phase: 'Running',
        initContainerStatuses: [{ ...ended(0), name: 'init' }],
        containerStatuses: [running()],
      },
      '1/1',
      'Running',
    ],
  ] as const)('a Pod with %s', async ([, status, ready, word], { api, core }) => {
    const initContainers = [{ name: 'init', image: 'i' }];
    await api.post(`${core}/pods`, pod('p', {}, { initContainers }));
    const patched = await api.patch(`${core}/pods/p/status`, 'merge', { status } as unknown as JsonObject);
    expect(patched.code).toBe(200);
    const cells = await cellsOf(api, `${core}/pods/p`);
    expect(cells.slice(0, 4)).toEqual(['p', ready, word, '0']);
  });

  test('a Pod that is wide: address, node, gates; and one that is done says so', async ({ api, core }) => {
    await api.post(
      `${core}/pods`,
      pod(
        'p',
        {},
        { nodeName: 'n1', readinessGates: [{ conditionType: 'a.b/c' }, { conditionType: 'a.b/d' }] },
      ),
    );
    const status = {
      phase: 'Succeeded',
      podIP: '10.0.0.7',
      podIPs: [{ ip: '10.0.0.7' }],
      conditions: [{ type: 'a.b/c', status: 'True' }],
    };
    await api.patch(`${core}/pods/p/status`, 'merge', { status });
    const reply = await api.get(`${core}/pods/p`, { accept });
    expect(rows(reply)[0]?.cells.slice(5)).toEqual(['10.0.0.7', 'n1', '<none>', '1/2']);
    expect(rows(reply)[0]?.conditions).toEqual([
      {
        type: 'Completed',
        status: 'True',
        reason: 'Succeeded',
        message: 'The pod has completed successfully.',
      },
    ]);
    await api.delete(`${core}/pods/p`, { gracePeriodSeconds: 0 });
  });

  test('a Pod that is being deleted is Terminating', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('p', { finalizers: ['example.com/hold'] }));
    await api.delete(`${core}/pods/p`);
    expect((await cellsOf(api, `${core}/pods/p`))[2]).toBe('Terminating');
    await api.patch(`${core}/pods/p`, 'merge', { metadata: { finalizers: null } });
  });

  test('restarts tell when the last one was', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('p'));
    const lastState = { terminated: { exitCode: 1, finishedAt: '2020-01-01T00:00:00Z' } };
    const status = { phase: 'Running', containerStatuses: [running({ restartCount: 2, lastState })] };
    await api.patch(`${core}/pods/p/status`, 'merge', { status });
    expect((await cellsOf(api, `${core}/pods/p`))[3]).toMatch(/^2 \(\d+y(\d+d)? ago\)$/);
  });

  test.for([
    [{ type: 'NodePort', ports: [{ port: 80 }] }, /^NodePort [\d.]+ <none> 80:3\d{4}\/TCP /],
    [{ clusterIP: 'None' }, /^ClusterIP None <none> <none> /],
    [{ type: 'ExternalName', externalName: 'a.example.com' }, /^ExternalName <none> a.example.com <none> /],
    [{ type: 'LoadBalancer', ports: [{ port: 80 }] }, /^LoadBalancer [\d.]+ <pending> 80:\d+\/TCP /],
    [
      {
        externalIPs: ['192.0.2.1'],
        selector: { b: '2', a: '1' },
        ports: [
          { port: 80, name: 'a' },
          { port: 53, name: 'b', protocol: 'UDP' },
        ],
      },
      /^ClusterIP [\d.]+ 192.0.2.1 80\/TCP,53\/UDP \S+ a=1,b=2$/,
    ],
  ] as const)('a Service %j', async ([spec, wanted], { api, core }) => {
    await api.post(`${core}/services`, { metadata: { name: 's' }, spec: spec as unknown as JsonObject });
    expect((await cellsOf(api, `${core}/services/s`)).slice(1).join(' ')).toMatch(wanted);
  });

  test('an EndpointSlice names three of its addresses and counts the others', async ({ api, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
    const addresses = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5'];
    await api.post(path, {
      metadata: { name: 's' },
      addressType: 'IPv4',
      endpoints: addresses.map((address) => ({ addresses: [address] })),
    });
    expect((await cellsOf(api, `${path}/s`)).slice(0, 4)).toEqual([
      's',
      'IPv4',
      '<unset>',
      '10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...',
    ]);
  });

  test('a Deployment tells its containers and its selector', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const spec = { containers: ['a', 'b'].map((name) => ({ name, image: `${name}:1` })) };
    const matchExpressions = [{ key: 'k', operator: 'In', values: ['y', 'x'] }];
    await api.post(path, {
      metadata: { name: 'd' },
      spec: {
        replicas: 3,
        paused: true,
        selector: { matchLabels: { app: 'd' }, matchExpressions },
        template: { metadata: { labels: { app: 'd', k: 'x' } }, spec },
      },
    });
    const cells = await cellsOf(api, `${path}/d`);
    expect([...cells.slice(0, 4), ...cells.slice(5)]).toEqual([
      'd',
      '0/3',
      0,
      0,
      'a,b',
      'a:1,b:1',
      'app=d,k in (x,y)',
    ]);
  });

  test('an Event, the same in both of its groups', async ({ api, core, namespace }) => {
    const involvedObject = { kind: 'Pod', namespace, name: 'p', fieldPath: 'spec.containers{main}' };
    await api.post(`${core}/events`, {
      metadata: { name: 'e' },
      involvedObject,
      reason: 'Tried',
      message: ' with a blank ',
      type: 'Warning',
      source: { component: 'tester', host: 'h' },
      firstTimestamp: now(),
      lastTimestamp: now(),
      count: 4,
    });
    for (const path of [core, `/apis/events.k8s.io/v1/namespaces/${namespace}`]) {
      const cells = await cellsOf(api, `${path}/events/e`);
      expect([...cells.slice(1, 7), ...cells.slice(8)]).toEqual([
        'Warning',
        'Tried',
        'pod/p',
        'spec.containers{main}',
        'tester, h',
        'with a blank',
        4,
        'e',
      ]);
    }
  });
});

describe('the table of a custom resource', () => {
  async function tableOf(api: Client, namespace: string, additionalPrinterColumns: JsonObject[]) {
    const group = `${uniqueName('g')}.example.com`;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const path = `/apis/${group}/v1/namespaces/${namespace}/things`;
    const version = { schema, ...(additionalPrinterColumns.length > 0 ? { additionalPrinterColumns } : {}) };
    await define(api, definitionOf(group, 'things', 'Thing', version), path);
    const made = await api.post(path, {
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 't' },
      spec: {
        text: 'words',
        count: 3,
        share: 0.5,
        isOn: true,
        since: now,
        list: [{ n: 'a' }, { n: 'b' }],
        'a.b': 'c',
      },
      status: { conditions: [{ type: 'Other' }, { type: 'Ready', status: 'True' }] },
    });
    expect(made.code).toBe(201);
    const reply = await api.get(`${path}/t`, { accept });
    await api.delete(`${definitions}/things.${group}`);
    return reply;
  }
  const now = '2020-01-01T00:00:00Z';

  test('without columns has the age', async ({ api, namespace }) => {
    const reply = await tableOf(api, namespace, []);
    expect(columns(reply)).toEqual(['Name string name 0', 'Age date  0']);
    expect(rows(reply)[0]?.cells).toEqual(['t', expect.stringMatching(/^\d+s$/)]);
  });

  test('has the columns of its definition', async ({ api, namespace }) => {
    const column = (type: string, jsonPath: string, more: JsonObject = {}) => ({
      name: `${type} ${jsonPath}`,
      type,
      jsonPath,
      ...more,
    });
    const given: Array<[JsonObject, Json | RegExp]> = [
      [column('string', '.spec.text'), 'words'],
      [column('integer', '.spec.count', { format: 'int32', priority: 1, description: 'How many.' }), 3],
      [column('number', '.spec.share'), 0.5],
      [column('boolean', '.spec.isOn'), true],
      [column('date', '.spec.since'), /^\d+y(\d+d)?$/],
      [column('string', '.spec.count'), '3'],
      [column('integer', '.spec.text'), null],
      [column('date', '.spec.text'), '<invalid>'],
      [column('string', '.spec.none'), null],
      [column('string', '.spec.list[1].n'), 'b'],
      [column('string', '.spec.list[*].n'), 'a'],
      [column('string', '.spec.list[9].n'), null],
      [column('string', ".spec['text']"), 'words'],
      [column('string', ".spec['a.b']"), null],
      [column('string', ".spec['a\\.b']"), 'c'],
      [column('string', '.spec.a\\.b'), 'c'],
      [column('string', '.status.conditions[?(@.type=="Ready")].status'), 'True'],
      [column('string', '.status.conditions[?(@.type=="None")].status'), null],
    ];
    const reply = await tableOf(
      api,
      namespace,
      given.map(([definition]) => definition),
    );
    expect(columns(reply)[2]).toBe('integer .spec.count integer int32 1');
    const cells = rows(reply)[0]?.cells.slice(1) ?? [];
    for (const [index, [definition, wanted]] of given.entries()) {
      const what = String(definition.name);
      if (wanted instanceof RegExp) expect(cells[index], what).toMatch(wanted);
      else expect(cells[index], what).toEqual(wanted);
    }
  });
});
