/**
 * Vectors in few bits, with a bound of what that loses; docs/decisions/0022-vector-search.md proves it. A row x is its
 * norm times `scale` times whole numbers, and `residual` is at least the length of the difference divided by the norm.
 */

export interface QuantizedRow {
  norm: number;
  /** A float32. */
  scale: number;
  /** A float32. */
  residual: number;
}

export interface QuantizedQuery {
  readonly norm: number;
  readonly scale: number;
  readonly residual: number;
  readonly whole: Int16Array;
}

const ROW_MAX = 127;
const INT32_MAX = 2 ** 31 - 1;
/**
 * Adding this number to a small number and subtracting it again rounds to the nearest whole number, in a fourth of the
 * time of Math.round.
 */
const ROUNDING = 1.5 * 2 ** 52;

/** Dimensions as the kernel reads them: sixteen at a time. */
export function strideOf(dimensions: number): number {
  return Math.ceil(dimensions / 16) * 16;
}

/** Relative roundings of all double operations of one score and its bound, many times over. */
export function slackOf(dimensions: number): number {
  return (dimensions + 64) * 2 ** -50;
}

/** Writes the whole numbers of a row to `target`, from `offset` on. */
export function quantizeRow(
  values: Float32Array,
  target: Int8Array,
  offset: number,
  row: QuantizedRow,
): void {
  const { norm, largest } = measure(values);
  row.norm = norm;
  row.scale = norm === 0 ? 0 : Math.fround(largest / norm / ROW_MAX);
  row.residual = 0;
  if (norm === 0) {
    target.fill(0, offset, offset + values.length);
    return;
  }
  row.residual = residualAbove(fill(values, norm, row.scale, target, offset));
}

/** The query, in as many bits as the sums of the kernel have room for. */
export function quantizeQuery(values: Float32Array): QuantizedQuery {
  const whole = new Int16Array(strideOf(values.length));
  const { norm, largest } = measure(values);
  if (norm === 0) return { norm, scale: 0, residual: 0, whole };
  const most = Math.min(32_767, Math.floor(INT32_MAX / (ROW_MAX * values.length)));
  const scale = Math.fround(largest / norm / most);
  return { norm, scale, residual: residualAbove(fill(values, norm, scale, whole, 0)), whole };
}

function measure(values: Float32Array): { norm: number; largest: number } {
  let sum = 0;
  let largest = 0;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!;
    sum += value * value;
    const size = Math.abs(value);
    if (size > largest) largest = size;
  }
  return { norm: Math.sqrt(sum), largest };
}

/** The length of the rounding error of the whole numbers, divided by the norm. */
function fill(
  values: Float32Array,
  norm: number,
  scale: number,
  target: Int8Array | Int16Array,
  offset: number,
): number {
  const perNorm = 1 / norm;
  const perStep = 1 / scale;
  let lost = 0;
  for (let index = 0; index < values.length; index += 1) {
    const unit = values[index]! * perNorm;
    const whole = unit * perStep + ROUNDING - ROUNDING;
    target[offset + index] = whole;
    const difference = unit - whole * scale;
    lost += difference * difference;
  }
  return Math.sqrt(lost);
}

/** A float32 above the length that was computed, and above the true one. */
function residualAbove(computed: number): number {
  return Math.fround(computed * (1 + 2 ** -20) + 2 ** -40);
}
