import { didYouMean, nearest } from '../base/nearest.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { Availability } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { isOperationName, type OperationName, operationNames, operationRow } from '../cloud/operations.ts';
import { encodeCall, type UncheckedCall } from '../cloud/request.ts';
import type { Traffic } from '../cloud/sender.ts';
import { forbiddenWords, forbidding, movesValve } from '../homeassistant/command.ts';
import type { Store } from '../store/store.ts';
import { failureOf, type RequestFailure, turnedAway } from './requestFailure.ts';
import { moveOf, type ValveCall } from './valveCall.ts';

/** What decides which operations may be asked for. */
export interface Permissions {
  readonly control: Readonly<Record<Control, boolean>>;
  readonly availability: (name: OperationName) => Availability;
  /** Why no valve may be moved at present, in words; null while they may. */
  readonly standstill: () => string | null;
}

/** Why a request comes to nothing before anything is sent; null for the good call of an operation. */
export function judgeRequest(
  call: UncheckedCall,
  problem: string | null,
  { control, availability, standstill }: Permissions,
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
  const forbidden = forbidding(call, control);
  if (forbidden !== null) return turnedAway('not_permitted', forbiddenWords(forbidden));
  if (problem !== null) return turnedAway('invalid_request', problem);
  try {
    encodeCall(call, {});
  } catch (error) {
    return failureOf(error, null);
  }
  const flaw = movesValve(call) ? standstill() : null;
  if (flaw !== null) return turnedAway('invalid_request', flaw);
  const offered = availability(name);
  if (offered === 'available') return null;
  const words =
    offered === 'off' ? `${name} is switched off in cloud.routes` : `the cloud does not offer ${name}`;
  return failureOf(new CloudError('unsupported', name, words), null);
}

/**
 * Why this bridge does not move the valve; null where it does. Commands to one valve run one at a time, which two
 * bridges could not see to.
 */
export function judgeMover(call: ValveCall, store: Store): RequestFailure | null {
  if (!store.neighbourhood.isShared) return null;
  const { id } = moveOf(call);
  if (!store.isWhole && !store.sonicView(id)) {
    const words =
      'it is not known yet which bridge moves this valve: the cloud could not be read completely yet';
    return turnedAway('cloud_unavailable', words);
  }
  const mover = store.neighbourhood.otherMover(id);
  if (mover === null) return null;
  return turnedAway(
    'invalid_request',
    `only ${mover} moves the valve of sonic ${id}: send the request to it`,
  );
}

/** Why a change has to wait; null where the budget has room for it. */
export function judgeBudget({ isUsedUp }: Traffic): RequestFailure | null {
  if (!isUsedUp) return null;
  return turnedAway('rate_limited', 'cloud.max_requests_per_minute is used up; try again in a while');
}
