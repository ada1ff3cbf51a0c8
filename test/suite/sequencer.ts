/**
 * The order of the run: the longest files first (alone.ts), so that none runs on when all others have ended.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { placeOf } from './alone.ts';

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => placeOf(moduleId, project.config.isolate);
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
