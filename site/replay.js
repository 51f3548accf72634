// In the demo on the site, events come from a recording instead of a program. It runs again and again.
window.EventSource = class extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSED = 2;
  readyState = 0;
  #timers = [];

  constructor() {
    super();
    fetch('events.json')
      .then((answer) => answer.json())
      .then((events) => this.#play(events))
      .catch(() => this.dispatchEvent(new Event('error')));
  }

  close() {
    this.readyState = 2;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #play(events) {
    if (this.readyState === 2) return;
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
    this.#timers = events.map(({ afterMs, type, data }) =>
      setTimeout(() => this.dispatchEvent(new MessageEvent(type, { data })), afterMs),
    );
    this.#timers.push(setTimeout(() => this.#play(events), events.at(-1).afterMs + 1_000));
  }
};
