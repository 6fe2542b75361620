/**
 * Vectors as they are stored: a factor as a 32-bit float, little-endian, then one signed byte for
 * each dimension. Bytes times factor are a vector of unit length. Pure.
 *
 * A byte instead of a 32-bit float makes an archive's vectors four times as small and its search
 * twice as fast; the error of a similarity stays below half a step of the largest dimension times
 * the root of their number (docs/deploying.md#embeddings).
 */

const FACTOR_BYTES = 4;

/** Steps of a dimension in each direction. */
const STEPS = 127;

/** A vector of unit length; undefined for one without a direction. @param values finite numbers */
export function unitOf(values: readonly number[]): Float32Array | undefined {
  const largest = largestOf(values);
  if (largest === 0) return undefined;
  // Divided first, since the square of a large number may be infinite.
  const scaled = values.map((value) => value / largest);
  const length = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(scaled, (value) => value / length);
}

/** A vector's bytes; undefined for one without a direction. @param values finite numbers */
export function packVector(values: readonly number[]): Uint8Array<ArrayBuffer> | undefined {
  const largest = largestOf(values);
  if (largest === 0) return undefined;
  const packed = new Uint8Array(FACTOR_BYTES + values.length);
  const steps = new Int8Array(packed.buffer, FACTOR_BYTES);
  let squares = 0;
  for (const [index, value] of values.entries()) {
    const step = Math.round((value / largest) * STEPS);
    steps[index] = step;
    squares += step * step;
  }
  new DataView(packed.buffer).setFloat32(0, 1 / Math.sqrt(squares), true);
  return packed;
}

/** The number of dimensions of a vector. @param packed see `packVector` */
export function dimensionsOf(packed: ArrayBuffer | Uint8Array): number {
  return packed.byteLength - FACTOR_BYTES;
}

/**
 * The cosine of the angle between two vectors, as many dimensions each.
 *
 * @param packed see `packVector`
 * @param unit see `unitOf`
 */
export function similarity(packed: ArrayBuffer, unit: Float32Array): number {
  const steps = new Int8Array(packed, FACTOR_BYTES);
  let sum = 0;
  for (let index = 0; index < unit.length; index++) sum += (steps[index] as number) * (unit[index] as number);
  return sum * new DataView(packed).getFloat32(0, true);
}

function largestOf(values: readonly number[]): number {
  return values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
}
