import { didYouMean, nearest } from '../base/nearest.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { Availability } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { isOperationName, type OperationName, operationNames, operationRow } from '../cloud/operations.ts';
import { encodeCall, type UncheckedCall } from '../cloud/request.ts';
import { forbiddenBy } from '../homeassistant/command.ts';
import { failureOf, type RequestFailure, turnedAway } from './requestFailure.ts';

/** What decides which operations may be asked for. */
export interface Permissions {
  readonly control: Readonly<Record<Control, boolean>>;
  readonly availability: (name: OperationName) => Availability;
}

/** Why a request comes to nothing before anything is sent; null for the good call of an operation. */
export function judgeRequest(
  call: UncheckedCall,
  problem: string | null,
  { control, availability }: Permissions,
): RequestFailure | null {
  const { operation: name } = call;
  if (!isOperationName(name)) {
    const shown = name.slice(0, 80);
    return turnedAway(
      'unknown_operation',
      `there is no operation ${shown}${didYouMean(nearest(shown, operationNames))}`,
    );
  }
  if (operationRow(name).session) {
    return turnedAway('not_permitted', "not permitted: the session is the bridge's own");
  }
  const forbidden = forbiddenBy(name, control);
  if (forbidden !== null) {
    return turnedAway('not_permitted', `not permitted: control.${forbidden} is off in the configuration`);
  }
  if (problem !== null) return turnedAway('invalid_request', problem);
  try {
    encodeCall(call, {});
  } catch (error) {
    return failureOf(error, null);
  }
  const offered = availability(name);
  if (offered === 'available') return null;
  const words =
    offered === 'off' ? `${name} is switched off in cloud.routes` : `the cloud does not offer ${name}`;
  return failureOf(new CloudError('unsupported', name, words), null);
}
