/** The todo list of a conversation. What has been closed for a while is not shown any more; it is still counted. */

import type { TodoPhase } from "../acp";

export class TodoList {
  private phases: TodoPhase[] = [];
  /** Since when what is closed has been closed, by its text, which no other task has. */
  private closed = new Map<string, number>();
  private clearAfterMs = -1;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly changed: () => void) {}

  /** Takes the list as the server tells it; what is closed is hidden after so many seconds, never if it does not say. */
  set(phases: TodoPhase[], clearAfterSeconds = -1): void {
    const tasks = phases.flatMap((phase) => phase.tasks).filter(isClosed);
    this.closed = new Map(tasks.map(({ content }) => [content, this.closed.get(content) ?? Date.now()]));
    this.phases = phases;
    this.clearAfterMs = clearAfterSeconds * 1000;
    this.show();
  }

  get shown(): TodoPhase[] {
    return this.phases.map(({ name, tasks }) => ({ name, tasks: tasks.map((task) => ({ ...task, isHidden: this.isHidden(task.content) })) }));
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  /** Tells of the list, and again when the next task is to be hidden. */
  private show(): void {
    clearTimeout(this.timer);
    const waits = [...this.closed.values()].map((since) => since + this.clearAfterMs - Date.now()).filter((wait) => wait > 0);
    if (this.clearAfterMs >= 0 && waits.length > 0) this.timer = setTimeout(() => this.show(), Math.min(...waits));
    this.changed();
  }

  private isHidden(content: string): boolean {
    const since = this.closed.get(content);
    return since !== undefined && this.clearAfterMs >= 0 && Date.now() - since >= this.clearAfterMs;
  }
}

function isClosed({ status }: TodoPhase["tasks"][number]): boolean {
  return status === "completed" || status === "abandoned";
}
