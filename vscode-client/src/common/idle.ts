/** Waiting for work to end, wherever it is done. */

export interface Worker {
  readonly busy: boolean;
  /** Waits until it is not at work. */
  idle(): Promise<void>;
}

/** Waits until none of them is: work may begin in one while another ends. */
export async function allIdle(workers: readonly Worker[]): Promise<void> {
  while (workers.some(({ busy }) => busy)) await Promise.all(workers.map((worker) => worker.idle()));
}
