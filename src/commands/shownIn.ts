import { type OperationName, operationRow } from '../cloud/operations.ts';
import type { Slice } from '../polling/pollStatus.ts';

/** The slice that shows what an operation has changed; null where none does. */
export function sliceShowing(name: OperationName): Slice | null {
  return operationRow(name).refreshes ?? null;
}
