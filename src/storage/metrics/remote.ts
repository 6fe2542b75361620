/** Methods of the metrics' object that other isolates can call. */
import type { Counts } from './families.ts';

/** What one isolate has counted. A batch that is sent again has the same id. */
export interface Batch {
  readonly id: string;
  readonly counts: Counts;
}

export interface MetricsApi {
  /** Adds a batch, unless it has been added before. */
  add(batch: Batch): void;
  read(): Counts;
}
