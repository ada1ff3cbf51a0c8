/**
 * Ends a run with one plain line, `N passed, N failed`, for machines that read the log; before it, lists what
 * passed only at the second try, and how the first one failed: it may never be seen again.
 */
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    // A file that does not load has no tests, and an error outside any test belongs to none: both are
    // failures.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandled.length;
    for (const test of tests) {
      if (test.diagnostic()?.flaky === true) {
        process.stdout.write(
          `unsteady, passed at the second try: ${test.module.relativeModuleId} > ${test.fullName}\n`,
        );
        for (const { stack = '', diff = '' } of test.result().errors ?? [])
          process.stdout.write(`${withoutPackages(`${stack}\n${stripVTControlCharacters(diff)}`)}\n`);
      }
    }
    const skipped = count('skipped');
    const more = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(`${count('passed')} passed, ${count('failed') + broken} failed${more}\n`);
  }
}

/** Indented, without lines of the stack that lie in packages. */
function withoutPackages(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '' && !line.includes('/node_modules/'));
  return lines.map((line) => `  ${line}`).join('\n');
}
