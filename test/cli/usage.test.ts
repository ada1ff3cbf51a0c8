/** Usage errors, help and exit codes: in this process where that is enough, as a process where it is not. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { whichOrrery } from '../../src/cli/cluster-connection.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { orrery as asProcess, inThisProcess as orrery } from './command.ts';

const cwd = tmpdir();

describe('wrong usage is one line on the error stream and exit code 2', () => {
  test.each([
    [['run', '--http', '8080'], '--http: "8080" is not allowed; allowed: HOST:PORT'],
    [['run', '--htpp', 'x'], "unknown option '--htpp' (Did you mean --http?)"],
    [['run', '--http'], "option '--http <HOST:PORT>' argument missing; --help says what is allowed"],
    [['get', '--planet'], "unknown option '--planet'; --help lists all"],
    [['adopt'], 'COMMAND: "" is not allowed; allowed: certificates'],
    [['adopt', 'planets'], 'COMMAND: "planets" is not allowed; allowed: certificates'],
    [['dead', 'planets'], 'COMMAND: "planets" is not allowed; allowed: list, show, resend, drop'],
    [['dead', '--nats', 'nats://127.0.0.1:9', 'show', 'x'], 'letter: "x" is not allowed'],
    [['run', 'now'], 'too many arguments'],
    [['run', '--inspector-auth', 'none'], 'none only with a loopback address'],
    [['run', '--bundle', '/nowhere'], '--bundle: /nowhere/bundle.yaml: there is no such file'],
    [['gte'], "unknown command 'gte' (Did you mean get?)"],
    [['help', 'gte'], "unknown command 'gte' (Did you mean get?)"],
    [['get', 'pdo'], '--feature loads (is pod meant?)'],
    [['get', 'planet'], 'KIND: "planet" is not allowed; allowed: pod (po), '],
    [['get', '-o', 'xml'], "argument 'xml' is invalid. Allowed choices are table, wide, json, yaml."],
    [['explain'], "missing required argument 'id'; --help lists all"],
    [
      ['explain', 'web-0'],
      'ID: "web-0" without a kind; allowed: KIND/NAMESPACE/NAME, such as pod/shop/web-0',
    ],
    [['explain', 'pods'], 'ID: the kind pods without a name ("orrery get pods" lists those there are)'],
    [['explain', 'web-0', 'pods'], 'ID: the kind comes first: pods web-0'],
    [['explain', 'pods', 'web-0', 'web-1'], 'ID: one actor at a time: pods/web-0, and then web-1'],
    [['explain', 'pod/shop/a', '-n', 'bakery'], 'pod/shop/a is not in the namespace bakery'],
    [['get', 'web-0', 'pods'], 'the kind comes first: get pods web-0'],
    [
      ['send', 'pod/shop/web-0'],
      'EVENT: none is given; "orrery explain pod/shop/web-0" lists those it takes',
    ],
    [['send', 'pod/shop/web-0', 'pod.recheck', '{"at":', '1}'], 'JSON: put it in quotes'],
    [['describe', 'pod', 'web-0'], "unknown command 'describe' (Did you mean explain?)"],
    [['planets'], "unknown command 'planets'; --help lists all"],
    [['shards', 'pods'], "too many arguments for 'shards'; its --help shows the form"],
    [['send', 'pod/shop/web-0', 'pod.recheck', '{'], 'JSON: "{" is not allowed'],
    [['send', 'pod/shop/web-0', 'pod.recheck', '[]'], 'it is not an object; allowed: '],
    [['send', 'pod/shop/web-0', 'pod.recheck', '{"type":"other"}'], 'its "type" is not pod.recheck'],
    [['get', '--health', 'bad'], '--health: "bad" is not allowed; allowed: ok, waiting, wrong'],
    [['events', '--from', 'noon'], '--from: "noon" is not allowed; allowed: a time such as 03:12'],
    [['events', '--since', 'noon'], '--since: "noon" is not allowed; allowed: a time such as 90s'],
    [['chart', 'planet'], 'MACHINE: "planet" is not allowed; allowed: pod, service'],
    [['get', '--nats', 'http://a'], '--nats: "http://a" is not allowed'],
    ...['--nats-creds', '--nats-ca'].map((flag): [string[], string] => [
      ['get', flag, '/nowhere/file'],
      `${flag}: "/nowhere/file" is not allowed; allowed: a file that can be read (there is no such file)`,
    ]),
    [
      ['elect', 'till', '--id', 'a', '--', 'true'],
      'ELECTION: "till" is not allowed; allowed: NAMESPACE/NAME',
    ],
    [['elect', 'shop/till', '--id', '', '--', 'true'], '--id: "" is not allowed; allowed: a text'],
  ])('orrery %j', async (args, complaint) => {
    const { code, out, err } = await orrery(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^error: [^\n]+\n$/);
    expect(err).toContain(complaint);
  });

  test('a wrong value in the environment names its variable', async () => {
    const { code, err } = await orrery(['run'], { ORRERY_STREAM_REPLICAS: '2' });
    expect([code, err]).toEqual([
      2,
      'error: --stream-replicas (from ORRERY_STREAM_REPLICAS): "2" is not allowed; allowed: 1, 3\n',
    ]);
  });
});

test('as a process, usage errors end with 2, failures with 1, help with 0', async () => {
  const ends = await Promise.all([
    asProcess(['get', 'planet'], { cwd }),
    asProcess(['get', '--nats', 'nats://127.0.0.1:9'], { cwd }),
    asProcess(['get', '--help'], { cwd }),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([2, 1, 0]);
  expect(ends[0].err).toMatch(/^error: KIND: "planet"/);
  expect(ends[2].out).toMatch(/^Usage: orrery get/);
});

describe('help', () => {
  test.each(['run', 'get', 'explain', 'events', 'send', 'shards', 'chart'])(
    'orrery %s --help has examples and ends with 0',
    async (command) => {
      const { code, out } = await orrery([command, '--help']);
      expect(code).toBe(0);
      expect(out).toContain('Examples:\n');
    },
  );

  test('the overview names every command and the exit codes', async () => {
    expect((await orrery(['adopt', 'help'])).out).toBe((await orrery(['adopt', '--help'])).out);
    const { code, out } = await orrery(['--help']);
    expect(code).toBe(0);
    for (const command of ['run', 'dev', 'get', 'explain', 'events', 'send', 'shards', 'chart']) {
      expect(out).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    }
    expect(out).toContain('Exit codes: 0 success, 1 failure, 2 usage error.');
  });

  test('the overview loads nothing of what orrery dev runs', () => {
    const command = readFileSync(join(import.meta.dirname, '../../packages/dev-cluster/command.ts'), 'utf8');
    const imports = command.match(/^import .*/gm) ?? [];
    expect(imports.filter((line) => !line.startsWith('import type '))).toEqual([]);
  });

  test('--version prints the release', async () => {
    expect((await orrery(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

/** Of which only the folder and the environment matter. */
const terminal: Terminal = {
  ...{
    out: () => {},
    err: () => {},
    env: {},
    directory: '/nowhere',
    style: (_: string, text: string) => text,
  },
  interrupted: new AbortController().signal,
};

describe('NATS is away', () => {
  const commands = [
    ['get'],
    ['explain', 'pod/a/b'],
    ['events'],
    ['send', 'pod/a/b', 'pod.recheck'],
    ['shards'],
  ];

  test.each(commands)('orrery %s fails with one line and exit code 1', async (...args) => {
    const { code, out, err } = await orrery([...args, '--nats', 'nats://127.0.0.1:9']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^error: no NATS at nats:\/\/127\.0\.0\.1:9: [^\n]+\n$/);
  });

  test('where nothing says which Orrery is meant, it is told what would', () => {
    const hintOf = (given: Record<string, string>, env: Record<string, string> = {}) =>
      whichOrrery(given, { ...terminal, env }).hint;
    expect(hintOf({})).toContain('give --server or --nats');
    expect(hintOf({ nats: 'nats://127.0.0.1:9' })).toBe('');
    expect(hintOf({}, { ORRERY_NATS: 'nats://127.0.0.1:9' })).toBe('');
  });

  test('a server that accepts and says nothing is given up in time', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const started = systemClock.monotonic();
    const { code, err } = await orrery(['get', '--nats', `127.0.0.1:${port}`]);
    silent.close();
    expect([code, err.split('\n').length]).toEqual([1, 2]);
    expect(systemClock.monotonic() - started).toBeLessThan(limits.cliConnectMs + 30_000);
  });
});

describe('orrery chart needs no Orrery', () => {
  test('text, mermaid and json', async () => {
    expect((await orrery(['chart', 'pod'])).out).toMatch(/^pod, version \d+: .+\n\npod\n/);
    expect((await orrery(['chart', 'pod', '--format', 'mermaid'])).out).toMatch(/^stateDiagram-v2\n/);
    const { name, config } = JSON.parse((await orrery(['chart', 'pod', '--format', 'json'])).out);
    expect([name, config.id]).toEqual(['pod', 'pod']);
  });
});
