/**
 * The order of the run: the longest files first (order.ts), so that none runs on when all others have ended.
 * Before the first one begins, the program is built that some of them start.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { placeOf, startsProgram, wantsPackage } from './order.ts';
import { provideProgram } from './program.ts';

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (files.some(({ moduleId }) => wantsPackage(moduleId))) await provideProgram('package');
    else if (files.some(({ moduleId }) => startsProgram(moduleId))) await provideProgram('program');
    const place = ({ moduleId, project }: TestSpecification) =>
      placeOf(moduleId, project.name === 'processes');
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
