import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts the longest test files first. By default vitest starts the largest files, but size says nothing
 * about duration.
 */
export class LongestFirst extends BaseSequencer {
  /**
   * First the simulated days. Then alternately a file that waits for programs and one that computes. Then all
   * others, which are short.
   */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const left = new Set(await super.sort(files));
    const within = (folder: string) => {
      const found = [...left].filter(({ moduleId }) => moduleId.includes(`/test/${folder}/`));
      for (const each of found) left.delete(each);
      return found;
    };
    const days = within('simulation');
    const [waiting, computing] = [within('e2e'), within('stories')];
    const rounds = Math.max(waiting.length, computing.length);
    const inTurn = Array.from({ length: rounds }, (_, index) => [waiting[index], computing[index]]).flat();
    return [...days, ...inTurn.filter((each) => each !== undefined), ...left];
  }
}
