// Fails if npm knows an advisory on a package that is bundled into the program:  npm run audit
import { auditOf } from './supplyChain/bill.ts';

const { report, status } = auditOf(process.cwd());
console.log(report);
process.exitCode = status;
