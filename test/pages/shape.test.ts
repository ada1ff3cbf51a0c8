/** Pages are read as people read them, and what they show is compared by what stays the same each time. */
import { expect, test } from 'vitest';
import { missing } from './shape.ts';
import { objectsIn, shownIn } from './shown-commands.ts';

const page = `Text with \`orrery get pod\`, a file \`orrery.ts\` and \`kubectl get x \\| wc\`.

- a list
  \`\`\`sh
  # a remark
  npm run a \\
    --b
  export A=1   # why
  \`\`\`

\`\`\`console
$ kubectl get pods
NAME    READY   AGE
web-0   1/1     4s

$ kubectl version
\`\`\`

\`\`\`yaml
apiVersion: v1
kind: Pod
\`\`\`
`;

test('commands are found in blocks and in sentences, in order, with what they print', () => {
  const shown = shownIn('a.md', page).map(({ line, command, prints }) => [line, command, prints.length]);
  expect(shown).toEqual([
    [1, 'orrery get pod', 0],
    [1, 'kubectl get x | wc', 0],
    [6, 'npm run a \\\n  --b', 0],
    [8, 'export A=1   # why', 0],
    [12, 'kubectl get pods', 2],
    [16, 'kubectl version', 0],
  ]);
  expect(objectsIn(page)).toEqual(['apiVersion: v1\nkind: Pod\n']);
});

test('times, ages, numbers and addresses may differ', () => {
  const shown = ['web-0 at 10.0.0.1:80 for 26s, since 2026-11-22T11:43:25.318Z', '…', 'and {"term":1} …'];
  const printed =
    'web-7 at 127.0.0.9:8080 for 1m3s, since 2027-01-02T03:04:05Z\nother\nand {"term":22} more\n';
  expect(missing(shown, printed)).toEqual([]);
});

test('a column, a word or a key that is not there is told; so is a row of another kind', () => {
  const table = ['NAME    READY   AGE', 'web-0   1/1     4s'];
  expect(missing(table, 'NAME    READY   STATUS   AGE\nweb-1   0/1     Running  9s\n')).toEqual([table[0]]);
  expect(missing(table, 'NAME    READY   AGE\nshop-1   0/1     9s\n')).toEqual([table[1]]);
  expect(missing(['is ready'], 'is not ready\n')).toEqual(['is ready']);
  expect(missing(['{"leading":true}'], '{"leads":true}\n')).toEqual(['{"leading":true}']);
});

test('a roll-out may be over before kubectl looks: its last line counts, and must be there', () => {
  const shown = ['Waiting for 1 pods to be ready...', 'partitioned roll out complete: 2 new pods'];
  expect(missing(shown, 'partitioned roll out complete: 3 new pods\n')).toEqual([]);
  expect(missing(shown, 'Waiting for 1 pods to be ready...\n')).toEqual([shown[1]]);
});
