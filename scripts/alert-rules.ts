/**
 * Prints deploy/observability/rules.yaml with runbooks at another address:
 *   node scripts/alert-rules.ts https://wiki.example.com/orrery > rules.yaml
 * The argument is the folder that contains alerts.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withRunbooks } from './docs/runbooks.ts';

const [base = ''] = process.argv.slice(2);
if (/^https?:\/\/[^\s/]+/.test(base)) {
  const rules = join(import.meta.dirname, '../deploy/observability/rules.yaml');
  process.stdout.write(withRunbooks(readFileSync(rules, 'utf8'), base));
} else {
  const given = JSON.stringify(base);
  process.stderr.write(
    `URL: ${given} is not allowed; allowed: the http or https address of the folder with alerts.md\n`,
  );
  process.exitCode = 2;
}
