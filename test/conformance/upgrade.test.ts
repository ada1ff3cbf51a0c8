/**
 * From the manifests of the last release to these, and away again: what stands in a cluster is changed in
 * place, and objects that people made under the old definitions are taken as they stand
 * (docs/decisions/0007).
 *
 * Records of the last release are tried by test/actors/records-of-earlier-releases.test.ts.
 */
import { describe, expect } from 'vitest';
import { readYaml } from '../deploy/manifests.ts';
import type { Client, JsonObject } from './client.ts';
import { isDevelopmentServer, metaOf, test, uniqueName } from './conformance.ts';

const before = readYaml('test/fixtures/manifests/be27528.yaml') as unknown as JsonObject[];
const kustomized = readYaml('deploy/base/orrery.yaml') as unknown as JsonObject[];
const definitionFiles = ['domains', 'elections', 'issuers', 'releases', 'routegates'].map(
  (plural) => `deploy/crds/orrery.dev_${plural}.yaml`,
);
const definitions = definitionFiles.flatMap((file) => readYaml(file)) as unknown as JsonObject[];

const kindOf = (object: JsonObject) => String(object.kind);
const nameOf = (object: JsonObject) => String(metaOf(object).name);
const isNamespaced = (object: JsonObject) => metaOf(object).namespace !== undefined;

const pathOf = (object: JsonObject) => `${collectionOf(object)}/${nameOf(object)}`;

function collectionOf(object: JsonObject): string {
  const version = String(object.apiVersion);
  const group = version.includes('/') ? `/apis/${version}` : `/api/${version}`;
  const within = isNamespaced(object) ? `/namespaces/${metaOf(object).namespace}` : '';
  const kind = kindOf(object);
  // As every kind here has it.
  return `${group}${within}/${kind.toLowerCase()}s`;
}

async function apply(api: Client, objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects) {
    const query = '?fieldManager=kubectl&force=true&fieldValidation=Strict';
    const reply = await api.patch(`${pathOf(object)}${query}`, 'apply', object);
    expect([pathOf(object), reply.code < 300 ? 'taken' : reply.text]).toEqual([pathOf(object), 'taken']);
  }
}

/** As people made them under the last release: its examples, and a Release as a replica makes it. */
const made = readYaml('test/fixtures/manifests/be27528-objects.yaml') as unknown as JsonObject[];

describe.runIf(isDevelopmentServer)('from the last release', () => {
  test('its objects are changed in place, and nobody is without rights or replicas', async ({ api }) => {
    await apply(api, before);
    const deployment = before.find((one) => kindOf(one) === 'Deployment') ?? {};
    const uid = metaOf(await api.get(pathOf(deployment))).uid;
    await apply(api, [...definitions, ...kustomized]);
    const after = await api.get(pathOf(deployment));
    expect(metaOf(after).uid).toBe(uid);
    // What an upgrade leaves behind is what stood there under a name that is no more.
    const names = new Set(kustomized.map((one) => `${kindOf(one)} ${nameOf(one)}`));
    const left = before
      .map((one) => `${kindOf(one)} ${nameOf(one)}`)
      .filter((name) => !name.startsWith('CustomResourceDefinition') && !names.has(name));
    expect(left).toEqual([]);
  });
});

describe('custom resources', () => {
  test('what was made under the definitions of the last release is taken by these', async ({
    api,
    namespace,
  }) => {
    await apply(
      api,
      before.filter((one) => kindOf(one) === 'CustomResourceDefinition'),
    );
    const stored: JsonObject[] = [];
    for (const object of made) {
      const metadata = metaOf(object);
      const mine = isNamespaced(object)
        ? { ...metadata, namespace }
        : { ...metadata, name: uniqueName('kept') };
      const body = { ...object, metadata: mine };
      const reply = await api.post(`${collectionOf(body)}?fieldValidation=Strict`, body);
      expect([nameOf(object), reply.code === 201 ? 'made' : reply.text]).toEqual([nameOf(object), 'made']);
      stored.push(reply.body);
    }
    await apply(api, definitions);
    for (const object of stored) {
      // A field of the new definition may have been given its default.
      if (object.spec !== undefined)
        expect((await api.get(pathOf(object))).body.spec).toMatchObject(object.spec as JsonObject);
      // As somebody touches it: the whole object is checked again.
      const touched = await api.patch(pathOf(object), 'merge', { metadata: { labels: { touched: 'yes' } } });
      expect([nameOf(object), touched.code < 300 ? 'taken' : touched.text]).toEqual([
        nameOf(object),
        'taken',
      ]);
    }
    for (const object of stored) await api.delete(pathOf(object));
  });
});
