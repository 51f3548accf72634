import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, and so begins first: by itself vitest begins with the largest files, which say nothing of that. */
export class LongestFirst extends BaseSequencer {
  /** The simulated days, then in turn a file that waits for programs and one that computes, then the many short ones. */
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
