/** The conversation by keyboard: it is one stop of the Tab key, at the row that was looked at last. The arrow keys lead from
 * row to row, Tab through what is in that row; what is in the others is passed by, however many they are. */

/** What one comes to with the arrow keys. */
const ROW = ".row, .group-head";
const INNER = "[role=link], button, input, textarea, summary, .scrolls";
/** Keys that these take for themselves are not taken from them. */
const WRITTEN_IN = "input, textarea, .scrolls";

interface Sides {
  top: number;
  bottom: number;
}

/** Whether the rest of a long row has to come into view before one goes on. */
export function hasMore(key: "ArrowUp" | "ArrowDown", row: Sides, view: Sides): boolean {
  return key === "ArrowDown" ? row.bottom > view.bottom + 2 : row.top < view.top - 2;
}

/** Where a key leads to in a list of `count`; undefined for nowhere. */
export function placeAfter(key: string, place: number, count: number): number | undefined {
  const next = new Map([["ArrowDown", place + 1], ["ArrowUp", place - 1], ["Home", 0], ["End", count - 1]]).get(key);
  return next === undefined || next < 0 || next >= count || next === place ? undefined : next;
}

export class Walk {
  /** The stop of the Tab key. */
  private current: HTMLElement | undefined;

  /** `come` is called with a row that is about to get the focus itself, `leave` when it has lost it. */
  constructor(
    private readonly rows: HTMLElement,
    private readonly come: (row: HTMLElement) => void,
    private readonly leave: (row: HTMLElement) => void,
  ) {
    rows.addEventListener("focusin", ({ target }) => {
      const row = rowOf(target);
      if (row === undefined) return;
      this.setCurrent(row);
      if (target === row) this.come(row);
    });
    rows.addEventListener("focusout", ({ target }) => {
      if (target instanceof HTMLElement && rowOf(target) === target) this.leave(target);
    });
    rows.addEventListener("keydown", (event) => this.press(event));
  }

  /** A row was drawn: what is new in it is passed by, unless the user is there. */
  drawn(row: HTMLElement): void {
    if (row !== this.current) setStops(row, false);
  }

  /** As long as the user is elsewhere, Tab leads to the newest row. */
  toNewest(): void {
    if (this.current?.isConnected === true && this.rows.contains(document.activeElement)) return;
    const last = this.newest();
    if (last !== undefined && last !== this.current) this.setCurrent(last);
  }

  private newest(): HTMLElement | undefined {
    const last = this.rows.lastElementChild;
    if (!(last instanceof HTMLElement)) return undefined;
    return last.matches(ROW) ? last : stopsIn(last).at(-1);
  }

  private setCurrent(row: HTMLElement): void {
    if (this.current !== row && this.current !== undefined) setStops(this.current, false);
    this.current = row;
    setStops(row, true);
  }

  private press(event: KeyboardEvent): void {
    const { key, target } = event;
    const row = rowOf(target);
    if (row === undefined || event.defaultPrevented || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (target instanceof HTMLElement && target !== row && target.matches(WRITTEN_IN)) return;
    const isStep = key === "ArrowDown" || key === "ArrowUp";
    if (isStep && target === row && hasMore(key, row.getBoundingClientRect(), this.rows.getBoundingClientRect())) return; // scrolls
    const stops = stopsIn(this.rows);
    const place = placeAfter(key, stops.indexOf(row), stops.length);
    const next = place === undefined ? undefined : stops[place];
    if (next === undefined) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}

function stopsIn(element: HTMLElement): HTMLElement[] {
  return [...element.querySelectorAll<HTMLElement>(ROW)].filter((row) => row.closest("[hidden]") === null);
}

function rowOf(target: EventTarget | null): HTMLElement | undefined {
  return target instanceof HTMLElement ? (target.closest<HTMLElement>(ROW) ?? undefined) : undefined;
}

function setStops(row: HTMLElement, on: boolean): void {
  row.tabIndex = on ? 0 : -1;
  for (const inner of row.querySelectorAll<HTMLElement>(INNER)) {
    inner.tabIndex = on && (!inner.classList.contains("scrolls") || isLarger(inner)) ? 0 : -1;
  }
}

/** What is seen whole needs no stop. */
function isLarger(box: HTMLElement): boolean {
  return box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1;
}
