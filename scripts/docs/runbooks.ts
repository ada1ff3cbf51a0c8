/**
 * Where each alert says what to do: `runbook_url`, the section of its name in docs/alerts.md. Pure.
 *
 * The base is the URL given at installation (`node scripts/alert-rules.ts URL`), or else the docs of the
 * repository that package.json names, or else the path in the repository.
 */

interface Manifest {
  readonly homepage?: string;
  readonly repository?: string | { readonly url?: string };
}

/** Without a trailing slash. */
export function docsBase({ homepage, repository }: Manifest): string {
  const url = typeof repository === 'string' ? repository : repository?.url;
  const base = homepage ?? url?.replace(/^git\+/, '').replace(/\.git$/, '');
  if (base === undefined || !/^https?:/.test(base)) return 'docs';
  // On a forge, the tree's address leads to the files; on a separate site, the pages are below its root.
  const root = base.replace(/[#?].*$/, '').replace(/\/$/, '');
  return homepage === undefined ? `${root}/blob/HEAD/docs` : `${root}/docs`;
}

export const runbookUrl = (base: string, alert: string): string =>
  `${base.replace(/\/$/, '')}/alerts.md#${alert.toLowerCase()}`;

/** Rules, or tests of rules, with a `runbook_url` below each summary. */
export function withRunbooks(yaml: string, base: string): string {
  let alert = '';
  return yaml
    .split('\n')
    .filter((line) => !/^\s*runbook_url:/.test(line))
    .flatMap((line) => {
      alert = /^\s*(?:- )?(?:alert|alertname): (\w+)$/.exec(line)?.[1] ?? alert;
      const [, indent] = /^(\s+)summary:/.exec(line) ?? [];
      return indent === undefined ? [line] : [line, `${indent}runbook_url: ${runbookUrl(base, alert)}`];
    })
    .join('\n');
}
