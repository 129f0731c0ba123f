;; The inner loops of searches by vector. `npm run generate` writes generated/kernel.ts from this text.
(module
  (import "region" "memory" (memory 1 65536))

  ;; out[i] = the dot product of the query and row i, in whole numbers.
  ;; query: int16, stride values; rows: int8, count rows of stride values; out: int32, count values.
  ;; The stride is a multiple of 16, and the caller makes sure that no sum leaves the range of int32.
  (func (export "dots") (param $query i32) (param $rows i32) (param $count i32) (param $stride i32) (param $out i32)
    (local $at i32) (local $end i32) (local $step i32) (local $other i32)
    (local $low v128) (local $high v128) (local $first v128) (local $second v128)
    (block $done
      ;; Two rows a turn, for each of which the query is loaded once. The last row of an odd count is its own other row.
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (local.set $step (i32.gt_s (local.get $count) (i32.const 1)))
        (local.set $other (i32.add (local.get $rows) (i32.mul (local.get $step) (local.get $stride))))
        (local.set $first (v128.const i32x4 0 0 0 0))
        (local.set $second (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (local.set $end (i32.add (local.get $rows) (local.get $stride)))
        ;; Sixteen dimensions a turn.
        (loop $dimensions
          (local.set $low (v128.load (local.get $at)))
          (local.set $high (v128.load offset=16 (local.get $at)))
          (local.set $first (i32x4.add (local.get $first) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $rows)))
            (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $rows))))))
          (local.set $second (i32x4.add (local.get $second) (i32x4.add
            (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $other)))
            (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $other))))))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (local.set $rows (i32.add (local.get $rows) (i32.const 16)))
          (local.set $other (i32.add (local.get $other) (i32.const 16)))
          (br_if $dimensions (i32.lt_u (local.get $rows) (local.get $end))))
        (i32.store (local.get $out) (call $sum (local.get $first)))
        (i32.store (i32.add (local.get $out) (i32.shl (local.get $step) (i32.const 2))) (call $sum (local.get $second)))
        (local.set $rows (local.get $other))
        (local.set $out (i32.add (local.get $out) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 2)))
        (br $next))))

  (func $sum (param $four v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $four)) (i32x4.extract_lane 1 (local.get $four)))
      (i32.add (i32x4.extract_lane 2 (local.get $four)) (i32x4.extract_lane 3 (local.get $four)))))

  ;; The rows whose key is not below `least`, as `Bounds.key` computes it: their numbers go to out, and the result is how many.
  ;; products: int32; scales and residuals: float32; norms: float64; count values each, and one more is read.
  (func (export "reaching")
    (param $products i32) (param $scales i32) (param $residuals i32) (param $norms i32) (param $count i32)
    (param $scale f64) (param $factor f64) (param $term f64)
    (param $slope f64) (param $base f64) (param $square f64) (param $share f64)
    (param $least f64) (param $out i32) (result i32)
    (local $row i32) (local $at i32) (local $mask i32) (local $norm v128)
    (local.set $at (local.get $out))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (local.get $count)))
        (local.set $norm (v128.load (local.get $norms)))
        (local.set $mask
          (i64x2.bitmask (f64x2.ge
            (f64x2.sub
              (f64x2.mul
                (f64x2.add (f64x2.mul (local.get $norm) (f64x2.splat (local.get $slope))) (f64x2.splat (local.get $base)))
                (f64x2.add
                  (f64x2.mul
                    (f64x2.mul
                      (f64x2.convert_low_i32x4_s (v128.load64_zero (local.get $products)))
                      (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $scales))))
                    (f64x2.splat (local.get $scale)))
                  (f64x2.add
                    (f64x2.mul
                      (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $residuals)))
                      (f64x2.splat (local.get $factor)))
                    (f64x2.splat (local.get $term)))))
              (f64x2.mul
                (f64x2.add (f64x2.mul (local.get $norm) (local.get $norm)) (f64x2.splat (local.get $square)))
                (f64x2.splat (local.get $share))))
            (f64x2.splat (local.get $least)))))
        (if (local.get $mask)
          (then
            (if (i32.and (local.get $mask) (i32.const 1))
              (then
                (i32.store (local.get $at) (local.get $row))
                (local.set $at (i32.add (local.get $at) (i32.const 4)))))
            (if (i32.and
                (i32.shr_u (local.get $mask) (i32.const 1))
                (i32.lt_u (i32.add (local.get $row) (i32.const 1)) (local.get $count)))
              (then
                (i32.store (local.get $at) (i32.add (local.get $row) (i32.const 1)))
                (local.set $at (i32.add (local.get $at) (i32.const 4)))))))
        (local.set $products (i32.add (local.get $products) (i32.const 8)))
        (local.set $scales (i32.add (local.get $scales) (i32.const 8)))
        (local.set $residuals (i32.add (local.get $residuals) (i32.const 8)))
        (local.set $norms (i32.add (local.get $norms) (i32.const 16)))
        (local.set $row (i32.add (local.get $row) (i32.const 2)))
        (br $next)))
    (i32.shr_u (i32.sub (local.get $at) (local.get $out)) (i32.const 2))))
