import { type Mutation, mistakesIn } from './mutation.ts';

/** What is shown. */
export const showingMutations: readonly Mutation[] = [
  ...mistakesIn('broker/mirror.ts', ['stories/health'], {
    'health tells of messages that the broker rejects': [
      'return this.#refused.values().next().value ?? null;',
      'return null;',
    ],
  }),
  ...mistakesIn('commands/valveQueue.ts', ['stories/obey'], {
    'a valve that could not be read is not said to have stood still': [
      'waitedMs: isUnread ? null : confirmTimeoutMs',
      'waitedMs: confirmTimeoutMs',
    ],
  }),
  ...mistakesIn('cloud/crawl.ts', ['unit/cloud/crawl'], {
    'a crawl that missed a page is incomplete': ['complete: problem === null', 'complete: true'],
  }),
  ...mistakesIn('cloud/decoders.ts', ['unit/cloud/crawl'], {
    'a list with an incident whose id cannot be used is not complete': [
      'rules.isNeverLeftOut ? refused(each.message) : each',
      'each',
    ],
  }),
  ...mistakesIn('cloud/rateLimits.ts', ['unit/cloud/client'], {
    'a wish of the cloud to wait is no longer than ten minutes for valves and leaks': [
      'isVitalList(name) ? Math.min(ms, maxVitalPauseMs) : ms',
      'ms',
    ],
  }),
  ...mistakesIn('cloud/requestQueue.ts', ['unit/cloud/requestQueue'], {
    'what hangs leaves a connection to what matters more': [
      'Math.max(1, maxConcurrency - 1)',
      'maxConcurrency',
    ],
    'valve commands take no connection from what is read, and it takes none from them': [
      "if (lane === 'valve') return valve < valveSlots;",
      '',
    ],
    'no minute has more polls than the budget': [
      'if (isPoll) this.#count(lane);',
      'if (isPoll && this.#sentAt.all.length < 30) this.#count(lane);',
    ],
    'no flood and no budget keeps the lists of valves and leaks waiting': ["entry.lane = 'late';", ''],
  }),
  ...mistakesIn('commands/valveQueue.ts', ['unit/commands/valveQueue'], {
    'a command is confirmed only by what was read since': [
      '(store.devices.sonic.readAt(id) ?? sentAt) >= sentAt;',
      'true;',
    ],
  }),
  ...mistakesIn('health/accountProblems.ts', ['stories/uncertain'], {
    'health tells of an incident whose valve is not known': [
      'store.areListsComplete ? store.incidents.uncertain : []',
      '[]',
    ],
  }),
  ...mistakesIn('health/checks.ts', ['unit/health/health'], {
    'health tells of measurements that have stopped': ['if (ids.length === 0) return null;', 'return null;'],
    'health is not ok before the account was read': ['isFirstReading ? readingReason : null', 'null'],
  }),
  ...mistakesIn('health/healthMonitor.ts', ['unit/health/healthMonitor'], {
    'health is judged though no poll ends': [
      'this.#cancelTimer = this.#parts.clock.after(nextMs, () => this.#judge());',
      '',
    ],
  }),
  ...mistakesIn('health/healthMonitor.ts', ['stories/cloudFaults'], {
    'a lost cloud makes values unavailable': [
      'const isFresh = leftMs > 0;',
      'const isFresh = this.#isCloudFresh || leftMs > 0;',
    ],
  }),
  ...mistakesIn('model/reach.ts', ['stories/links'], {
    'an unknown word of a link takes nothing offline': [
      "return link === null ? 'unknown' : link ? 'up' : 'offline';",
      "return link ? 'up' : 'offline';",
    ],
  }),
  ...mistakesIn('model/incidents.ts', ['unit/model/incidents'], {
    'an incident without a type may be of any': ['    possibleIncidents.some(isTypeUnknown) ||\n', ''],
  }),
  ...mistakesIn('model/usage.ts', ['stories/knownInThisRun', 'stories/water'], {
    'water of today that was read too long ago is not shown': [
      'return { ...usage, todayL: null,',
      'return { ...usage,',
    ],
  }),
  ...mistakesIn('model/valve.ts', ['unit/model/valve'], {
    'a pressure test is no closed valve': [
      "if (word === 'pressure_test') return lastSettled;",
      "if (word === 'pressure_test') return 'closed';",
    ],
    'an unknown word is no position': [
      'return shownByState.get(word) ?? null;',
      'return shownByState.get(word) ?? lastSettled;',
    ],
    'a requested close is not a closed valve': [
      "['requested_closed', 'closing'],",
      "['requested_closed', 'closed'],",
    ],
  }),
  ...mistakesIn('model/valve.ts', ['unit/store/store'], {
    'a command alone closes no valve': [
      'return movementOf[command.action];',
      'return targetOf[command.action];',
    ],
  }),
  ...mistakesIn('polling/details.ts', ['stories/uncertain'], {
    'an error of the cloud takes no switch away': [
      '        if (!isPermanent(error)) return toProblem(error);\n        query.store(null',
      '        query.store(null',
    ],
  }),
  ...mistakesIn('polling/lists.ts', ['unit/polling/poller'], {
    'an incident that one list misses is closed by nothing but the cloud’s answer for it': [
      'if (times >= minListsMissing) return closed;',
      'return closed;',
    ],
  }),
  ...mistakesIn('polling/lists.ts', ['stories/incidents'], {
    'a resolved leak ends while only the list of incidents fails': [
      'await this.#confirmOpen(startedAt, error.kind, deadline.signal);',
      ';',
    ],
    'a gateway that answers 404 to everything ends no leak': ['answer === listFailure || ', ''],
  }),
  ...mistakesIn('store/store.ts', ['stories/largeAccount'], {
    'a device that is in no list of hubs yet is neither gone nor without a property': [
      'const mayBeListed = !areHubListsRead && !areListsAsked;',
      'const mayBeListed = false;',
    ],
    'a device that is placed during the first reading is not new': [
      'is && record && before.areListsAsked && before',
      'is && record && before',
    ],
  }),
  ...mistakesIn('polling/pollStatus.ts', ['unit/polling/pollStatus'], {
    'health tells of a vital list that waits': [
      'return this.#clock.monotonic() > limitAt + marginMs;',
      'return false;',
    ],
    'a list that was incomplete is so until it was read whole': [
      "before?.kind !== 'incomplete' && isInTime;",
      'isInTime;',
    ],
    'a list that changes for too long is a fault': [
      "before?.kind !== 'incomplete' && isInTime;",
      "before?.kind !== 'incomplete';",
    ],
  }),
  ...mistakesIn('polling/poller.ts', ['stories/health'], {
    'health is not ok before each list has come whole once': [
      'return !store.places.areListsAsked || progress.some(isInconsistent);',
      'return !store.places.areListsAsked;',
    ],
  }),
  ...mistakesIn('polling/usage.ts', ['unit/polling/usage', 'stories/water'], {
    'a total does not begin again at zero': [
      'state.problem === null || state.kept.usage.onDisk(sonicId) !== undefined',
      'true',
    ],
  }),
  ...mistakesIn('publishing/presence.ts', ['stories/announcements'], {
    'a bridge is online again after an old last will': ["mirror.forget([topics.bridge('state')]);", ''],
  }),
  ...mistakesIn('publishing/publisher.ts', ['stories/knownInThisRun'], {
    'what this run has not read is offline': [
      'if (!view) this.#publishUnreadDevice({ kind, id });',
      'if (!view) return [];',
    ],
  }),
  ...mistakesIn('publishing/publisher.ts', ['stories/cloudFaults'], {
    'devices are available again only with what was read since': [
      'this.#publishOnline(isShowingDevices && wasFresh);',
      'this.#publishOnline(isShowingDevices);',
    ],
  }),
  ...mistakesIn('state/sections.ts', ['unit/state/stateFile'], {
    'what this run has read of water is newer than what it finds': [
      'isOfThisRun || known.readAt > found.readAt',
      'known.readAt > found.readAt',
    ],
  }),
  ...mistakesIn('store/details.ts', ['unit/store/details', 'unit/store/store'], {
    'what was measured too long ago is not shown': [
      'const isPresent = ageMs <= maxMeasuredMs;',
      'const isPresent = true;',
    ],
  }),
  ...mistakesIn('store/incidentPlaces.ts', ['stories/unassigned'], {
    'a replaced hub is no trouble of any valve': [
      'if (device === null && isAboutHub(record)) return false;',
      '',
    ],
  }),
  ...mistakesIn('store/incidentPlaces.ts', ['stories/uncertain'], {
    'an incident of a hub may be at each valve of it': [
      "return kind === 'sonic' && mayBeOn;",
      'return false;',
    ],
  }),
  ...mistakesIn('store/incidentPlaces.ts', ['unit/store/store'], {
    'a leak at an unplaced valve counts in each property that it may be in': [
      '? propertiesOf(device.id, context) : [];',
      '? [] : [];',
    ],
  }),
  ...mistakesIn('store/incidents.ts', ['unit/store/store'], {
    'a list of incidents that is too old says nothing': ['return this.#table.isListFresh;', 'return true;'],
  }),
  ...mistakesIn('store/movement.ts', ['unit/store/valveRecords'], {
    'a movement is by a command only if one was at work': [' && from < until && ', ' && '],
    'a movement that is found long after a command is nobody’s': [
      ' && noticedAt < until + countsAsMoverMs;',
      ';',
    ],
  }),
  ...mistakesIn('store/places.ts', ['unit/store/store'], {
    'what is in a property that is gone is not in the only one that is left': [
      'named === null ? onlyProperty : (property.get(named)?.id ?? null)',
      'property.get(named)?.id ?? onlyProperty',
    ],
    'a filter hides no valve with a new hub that its lists may not have yet': ['<= newHubAt;', '<= never;'],
  }),
  ...mistakesIn('store/places.ts', ['stories/topology'], {
    'a refused list hides no leak': ['signalLists.isRefused(id) ||', 'false ||'],
  }),
  ...mistakesIn('store/views.ts', ['stories/knownInThisRun'], {
    'a property does not vouch for valves that no list had': [
      'devices.sonic.isListFresh && all.every',
      'all.every',
    ],
  }),
  ...mistakesIn('store/table.ts', ['unit/store/store', 'unit/store/table'], {
    'a link that may be a flap is not up for ever': ['entry.formerReadAt >= this.#staleBefore ?', 'true ?'],
    'an answer that comes late does not undo a newer reading': [
      'if (this.isOlder(id, readAt)) return null;',
      '',
    ],
    'an older list does not undo a newer reading': ['return sentAt < Math.max(', 'return 0 > Math.max('],
    'an incomplete list removes no device': ['if (!isComplete) return changes;', ''],
    'one list without a device removes none': [
      'constructor(maxMisses = 2) {',
      'constructor(maxMisses = 1) {',
    ],
    'absences that were interrupted do not count': [
      '    entry.misses = 0;\n    const spelled',
      '    const spelled',
    ],
    'what was read too long ago is not shown': [
      'return entry !== undefined && entry.readAt < this.#staleBefore;',
      'return false;',
    ],
  }),
  ...mistakesIn('store/valveRecords.ts', ['unit/store/valveRecords'], {
    'a command that was sent when the process died is not shown as sent for ever': [
      "if (last.status !== 'sent') return;",
      'return;',
    ],
    'a failed command is shown until a newer one is confirmed': [
      "if (isFailure && (isWanted || status === 'refused')) {",
      'if (false) {',
    ],
    'a failed command that was dismissed stays so over a restart': [
      'entry.failure = null;\n    this.#keep(entry);',
      'entry.failure = null;',
    ],
    'a valve that has stopped on its way is not shown as moving, whatever became of its failed command': [
      "if (status === 'not_confirmed') entry.stopped = asked.action;",
      '',
    ],
    'a refused command is not confirmed by what was under way before a restart': [
      "Object.assign(obeyed, { status: 'confirmed'",
      "Object.assign(entry.commands.at(-1) ?? {}, { status: 'confirmed'",
    ],
    'a movement is not explained by an alert from before the one before': ['readAt >= formerFrom && ', ''],
  }),
  ...mistakesIn('store/valveRecords.ts', ['unit/store/store'], {
    'the word of the cloud stands over a command': [
      'targetOf[accepted.action])\n      entry.accepted = null;',
      'targetOf[accepted.action])\n      return;',
    ],
    'what was read before a command says nothing of it': ['if (readAt < accepted.at)', 'if (false)'],
    'through a long pressure test no old position is shown': [
      'leftAt === null || leftAt >= this.#staleBefore',
      'true',
    ],
  }),
  ...mistakesIn('store/views.ts', ['stories/uncertain'], {
    'an offline valve does not say that nothing leaks': ["isReporting: reach === 'up'", 'isReporting: true'],
    'a property does not say that nothing leaks at an offline valve': [
      'all.every(({ isReporting }) => isReporting)',
      'true',
    ],
  }),
];
