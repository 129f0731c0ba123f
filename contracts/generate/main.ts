import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { emitModels } from './emit-models.ts';
import { emitOperations } from './emit-operations.ts';
import { emitErrors, emitLimits } from './emit-tables.ts';
import { readSource } from './source.ts';
const s = readSource(process.cwd());
for (const [p, t] of Object.entries({ models: emitModels(s), operations: emitOperations(s), errors: emitErrors(s), limits: emitLimits(s) })) {
  const f = `contracts/generated/${p}.ts`;
  mkdirSync(dirname(f), { recursive: true });
  writeFileSync(f, t);
}
