// Writes the software bill of materials, what the bridge is made of, in the form of CycloneDX:  npm run sbom [FILE]
import { writeFileSync } from 'node:fs';
import { billOfMaterials } from './supplyChain/bill.ts';

const file = process.argv[2] ?? 'sbom.cdx.json';
const bill = billOfMaterials(process.cwd());
writeFileSync(file, bill);
console.log(`Wrote ${file}: ${JSON.parse(bill).components.length} packages`);
