import type { BodyOf, ListName, OperationName, ParamsOf, QueryOf, RecordOf } from '../cloud/operations.ts';
import type { Sessions } from './sessions.ts';
import type { World } from './world.ts';

/** A well-formed request of an operation, and what it is asked of. */
export interface Asked<Name extends OperationName> {
  readonly params: ParamsOf<Name>;
  readonly query: QueryOf<Name>;
  readonly body: BodyOf<Name>;
  /** The bearer token; valid unless the operation is a session's own. */
  readonly token: string;
  readonly world: World;
  readonly sessions: Sessions;
}

/** The records that a list shows: their ids in order, and where they are. */
export interface Listing<T = unknown> {
  readonly ids: readonly string[];
  readonly records: { get(id: string): T | undefined };
}

/** All of a record but the webhook's address, which is taken and never shown (interface document 2.5). */
type Shown<T> = T extends { readonly webhook_url: unknown } ? Omit<T, 'webhook_url'> : T;

/** What a handler gives: the listing of a list operation, a record, or null for an answer without a body. */
type Given<Name extends OperationName> = Name extends ListName
  ? Listing<RecordOf<Name>>
  : Shown<RecordOf<Name>>;

/** A handler for each of the operations. */
export type Handlers<Name extends OperationName> = {
  readonly [Each in Name]: (asked: Asked<Each>) => Given<Each>;
};
