/** Answers what the parent process asks for by name; see scripts/measure/deeds.ts. */
export function answerParent(answers) {
  process.on('message', async ({ id, name, args }) => {
    try {
      process.send({ id, value: await answers[name](...args) });
    } catch (error) {
      process.send({ id, problem: String(error?.stack ?? error) });
    }
  });
}
