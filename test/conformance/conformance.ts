/**
 * One suite for two servers: the one that KUBECONFIG names, or else the development API server, started for
 * the file.
 *
 * Every test gets a namespace of its own, which is deleted afterwards. `isDevelopmentServer` marks what only
 * a real server can do and what only the development server does on purpose; nothing else may depend on the
 * server.
 */
import { test as base } from 'vitest';
import { startKubeApi } from '../../packages/kube-api/server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { Client, type JsonObject, type Reply } from './client.ts';
import { type Access, readKubeconfig, readKubeconfigFile } from './kubeconfig.ts';

const path = process.env.KUBECONFIG ?? '';

export const isDevelopmentServer = path === '';

interface Fixtures {
  readonly access: Access;
  readonly api: Client;
  /** Name of a fresh namespace. */
  readonly namespace: string;
  /** Path of the namespace's core/v1 resources. */
  readonly core: string;
}

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${systemRandom
    .id()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, 'x')
    .slice(0, 12)}0`;
}

export const test = base.extend<Fixtures>({
  access: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures from the pattern.
    async ({}, use) => {
      if (!isDevelopmentServer) return use(readKubeconfigFile(path));
      const server = await startKubeApi({ clock: systemClock, random: systemRandom });
      await use(readKubeconfig(server.kubeconfig(), '.'));
      await server.stop();
    },
    { scope: 'file' },
  ],
  api: [
    async ({ access }, use) => {
      const client = new Client(access);
      await use(client);
      client.close();
    },
    { scope: 'file' },
  ],
  namespace: async ({ api }, use) => {
    const name = uniqueName('conf');
    const created = await api.post('/api/v1/namespaces', { metadata: { name } });
    if (created.code !== 201) throw new Error(`cannot create a namespace: ${created.text}`);
    await use(name);
    await api.delete(`/api/v1/namespaces/${name}`);
  },
  core: async ({ namespace }, use) => {
    await use(`/api/v1/namespaces/${namespace}`);
  },
});

export function configMap(name: string, more: JsonObject = {}, data: JsonObject = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more }, data };
}

/** A Pod that nobody schedules. */
export function pod(name: string, more: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...more },
    spec: { schedulerName: 'nobody', containers: [{ name: 'main', image: 'example.com/app:1' }], ...spec },
  };
}

export function metaOf(reply: Reply | JsonObject): JsonObject {
  const body = 'body' in reply && 'code' in reply ? (reply as Reply).body : (reply as JsonObject);
  return (body.metadata ?? {}) as JsonObject;
}

export function versionOf(reply: Reply | JsonObject): string {
  return String(metaOf(reply).resourceVersion);
}

export function uidOf(reply: Reply | JsonObject): string {
  return String(metaOf(reply).uid);
}

/** The items of a list. */
export function itemsOf(reply: Reply): JsonObject[] {
  return (reply.body.items ?? []) as JsonObject[];
}

export function namesOf(reply: Reply): string[] {
  return itemsOf(reply).map((item) => String(metaOf(item).name));
}

/** Fields of the causes of a refusal. */
export function causeFields(reply: Reply): string[] {
  const details = (reply.body.details ?? {}) as JsonObject;
  return [...new Set(((details.causes ?? []) as JsonObject[]).map((cause) => String(cause.field)))].sort();
}
