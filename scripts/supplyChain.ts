// Checks what comes into the project from elsewhere, by package.json and package-lock.json:  npm run supply-chain
import { productionPackages, readProject } from './supplyChain/project.ts';
import { problemsOf } from './supplyChain/rules.ts';

const project = readProject(process.cwd());
const problems = problemsOf(project);

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${productionPackages(project).length} production packages, as they should be`);
