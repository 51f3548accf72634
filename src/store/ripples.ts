import { type Dirty, type PlannedKind, plannedKinds } from './dirty.ts';
import type { Lists } from './lists.ts';
import type { CloudDeviceKind } from './readings.ts';
import type { Whereabouts } from './whereabouts.ts';

/** What is to be planned anew: what changed, and what shows something of it. */
export class Ripples {
  #dirty = nothing();
  readonly #lists: Lists;
  readonly #whereabouts: Whereabouts;
  readonly #onChange: () => void;

  constructor(lists: Lists, whereabouts: Whereabouts, onChange: () => void) {
    this.#lists = lists;
    this.#whereabouts = whereabouts;
    this.#onChange = onChange;
  }

  /** What was marked since the last time this was asked. */
  take(): Dirty {
    const taken = this.#dirty;
    this.#dirty = nothing();
    return taken;
  }

  /** Marks something, be it there or gone. */
  mark(kind: PlannedKind, id: string): void {
    this.#dirty[kind].add(id);
    this.#onChange();
  }

  /** Marks something whose own view shows something new; a device that is not known may only not be read yet. */
  touch(kind: PlannedKind, id: string): void {
    if (kind === 'incident' || this.#lists[kind].has(id)) this.mark(kind, id);
  }

  /** Marks all of a kind. */
  touchEach(kind: PlannedKind): void {
    for (const id of this.#lists[kind].ids) this.touch(kind, id);
  }

  /** Marks everything. */
  touchAll(): void {
    for (const kind of plannedKinds) this.touchEach(kind);
  }

  /** Marks what shows something of a device that is another, has come or has gone. */
  changed(kind: CloudDeviceKind, id: string): void {
    this.#lists.incident.surroundingsChanged();
    switch (kind) {
      case 'property':
        this.touch('property', id);
        // A sonic without a signal shows the property that it names, while that is known.
        for (const sonicId of this.#whereabouts.wifiSonicsNaming(id)) this.touch('sonic', sonicId);
        break;
      case 'signal':
        this.#touchOnSignal(id);
        break;
      case 'sonic':
        this.#whereabouts.sonicsChanged();
        this.#touchPropertiesOf(id);
        this.touch('sonic', id);
    }
  }

  /** What hangs on a signal shows its link and its property. */
  #touchOnSignal(id: string): void {
    this.touch('signal', id);
    const owner = this.#whereabouts.signals.of(id);
    if (owner !== null) this.touch('property', owner);
    for (const sonicId of this.#whereabouts.sonicsOn(id)) {
      this.touch('sonic', sonicId);
      this.#touchPropertiesOf(sonicId);
    }
  }

  /** A sonic that moves takes its incidents from one property to another. */
  #touchPropertiesOf(sonicId: string): void {
    for (const id of this.#whereabouts.moved(sonicId)) this.touch('property', id);
  }
}

function nothing(): Record<PlannedKind, Set<string>> {
  return { property: new Set(), signal: new Set(), sonic: new Set(), incident: new Set() };
}
