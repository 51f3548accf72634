// Writes the software bill of materials, what the bridge is made of, in the form of CycloneDX:  npm run sbom [FILE]
import { writeFileSync } from 'node:fs';
import { billOfMaterials } from './build/bill.ts';

const file = process.argv[2] ?? 'sbom.cdx.json';
writeFileSync(file, billOfMaterials());
console.log(`Wrote ${file}`);
