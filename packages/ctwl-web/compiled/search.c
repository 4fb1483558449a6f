/**
 * 10, step 6: the scores of all codes, and the best codes of windows. The only loops that have to be quick: codes go by
 * in blocks, four at a time, so that what is written stays in the processor's first cache. compile.py makes
 * src/compiled.js of it.
 */
#include <stdint.h>
#include <wasm_simd128.h>

/** Codes of a block. */
#define BLOCK 128
/** Vectors of a block's sums: each holds those of two codes by two scores, 32 bits each. */
#define SUMS (BLOCK / 2)
/** Numbers of codes that a record may have. */
#define NUMBERS 4
#define G 0x9e3779b1

/** A context and a cell: a piece of the text, and in how many numbers of codes its positions carry slot 0, less 1. */
struct row { int32_t cell, context; };
/** A window: the number of codes of the record, less 1, and the cuts where it begins and ends. */
struct window { int32_t number, from, behind; };
/** The best of a window: by each score the highest sum, and the place of its code. */
struct best { int32_t score[2]; uint32_t place[2]; };

/** What a block needs beside its input. The sums before each cut follow: those of each number of codes in turn. */
struct work {
  v128_t folded[BLOCK / 4];
  v128_t piece[NUMBERS][SUMS];
  v128_t running[NUMBERS][SUMS];
};

/** The first step of mixing (6.1). It is the same for a seed and for a code, which are only then put together. */
static inline uint32_t fold(uint32_t x) { return x ^ x >> 16; }

/** The codes of a block times G, folded; `codes` null where each place is a code. */
static void fold_codes(const uint32_t *codes, uint32_t first, uint32_t length, uint32_t *folded) {
  for (uint32_t i = 0; i < BLOCK; i++) folded[i] = fold((codes && i < length ? codes[first + i] : first + i) * G);
}

/** The colours (6.3) of a block's codes at a context, in bytes of a row, of which a colour has `2^size`. */
static inline void colours(uint32_t seed, uint32_t width, int size, const v128_t *folded, v128_t *into) {
  const v128_t wide = wasm_i32x4_splat((int32_t)width), start = wasm_i32x4_splat((int32_t)fold(seed));
  for (int i = 0; i < BLOCK / 8; i++) {
    v128_t half[2];
    for (int j = 0; j < 2; j++) {
      v128_t x = wasm_v128_xor(folded[2 * i + j], start);
      x = wasm_i32x4_mul(x, wasm_i32x4_splat((int32_t)0x85ebca6b));
      x = wasm_v128_xor(x, wasm_u32x4_shr(x, 13));
      x = wasm_i32x4_mul(x, wasm_i32x4_splat((int32_t)0xc2b2ae35));
      x = wasm_v128_xor(x, wasm_u32x4_shr(x, 16));
      // The upper halves of the products.
      v128_t low = wasm_u64x2_extmul_low_u32x4(x, wide), high = wasm_u64x2_extmul_high_u32x4(x, wide);
      half[j] = wasm_i32x4_shl(wasm_i32x4_shuffle(low, high, 1, 3, 5, 7), size);
    }
    into[i] = wasm_u16x8_narrow_i32x4(half[0], half[1]);
  }
}

/** The units of four codes by one score. */
static inline v128_t units_of_four(const char *row, const uint16_t *at) {
  v128_t units = wasm_v128_load32_zero(row + at[0]);
  units = wasm_v128_load32_lane(row + at[1], units, 1);
  units = wasm_v128_load32_lane(row + at[2], units, 2);
  return wasm_v128_load32_lane(row + at[3], units, 3);
}

/**
 * The scores of the codes in places from `from` on and before `behind`: those of whole blocks, the last one too.
 *
 * @param seeds the colour seed of each row's context
 * @param units for each row and colour its units
 * @param width the number of colours
 * @param codes the codes of the places; null where each place is a code
 * @param work room for a block's codes, then its colours in two rows
 */
__attribute__((export_name("score")))
void score(const uint32_t *seeds, int count, const char *units, int width, const uint32_t *codes, uint32_t from,
           uint32_t behind, v128_t *work, v128_t *scores) {
  v128_t *one = work + BLOCK / 4, *two = one + BLOCK / 8;
  for (uint32_t first = from; first < behind; first += BLOCK, scores += BLOCK / 4) {
    fold_codes(codes, first, behind - first, (uint32_t *)work);
    for (int i = 0; i < BLOCK / 4; i++) scores[i] = wasm_i32x4_splat(0);
    for (int r = 0; r < count; r += 2) {
      const char *row = units + 4 * width * r;
      colours(seeds[r], width, 2, work, one);
      if (r + 1 < count) {
        colours(seeds[r + 1], width, 2, work, two);
        for (int i = 0; i < BLOCK / 4; i++) {
          v128_t next = units_of_four(row + 4 * width, (uint16_t *)two + 4 * i);
          scores[i] = wasm_i32x4_add(scores[i], wasm_i32x4_add(units_of_four(row, (uint16_t *)one + 4 * i), next));
        }
      } else {
        for (int i = 0; i < BLOCK / 4; i++) {
          scores[i] = wasm_i32x4_add(scores[i], units_of_four(row, (uint16_t *)one + 4 * i));
        }
      }
    }
  }
}

/** The units of two codes. */
static inline v128_t units_of(const char *row, const uint16_t *at) {
  return wasm_v128_load64_lane(row + at[1], wasm_v128_load64_zero(row + at[0]), 1);
}

static void add(v128_t *sums, const char *row, const uint16_t *at) {
  for (int i = 0; i < SUMS; i++) sums[i] = wasm_i32x4_add(sums[i], units_of(row, at + 2 * i));
}

/** Adds two rows that follow each other. */
static void add_two(v128_t *sums, const char *row, const char *next, const uint16_t *one, const uint16_t *two) {
  for (int i = 0; i < SUMS; i++) {
    v128_t both = wasm_i32x4_add(units_of(row, one + 2 * i), units_of(next, two + 2 * i));
    sums[i] = wasm_i32x4_add(sums[i], both);
  }
}

/** Looks for better codes in a window's sums; the first of equals stays. */
static void see(struct best *best, const v128_t *low, const v128_t *high, uint32_t first, uint32_t length) {
  const v128_t most = wasm_v128_load64_splat(best->score);
  v128_t better = wasm_i32x4_splat(0);
  for (int i = 0; i < SUMS; i++) {
    better = wasm_v128_or(better, wasm_i32x4_gt(wasm_i32x4_sub(high[i], low[i]), most));
  }
  if (!wasm_v128_any_true(better)) return;
  const int32_t *upper = (const int32_t *)high, *lower = (const int32_t *)low;
  for (uint32_t i = 0; i < length; i++) {
    for (int s = 0; s < 2; s++) {
      int32_t sum = upper[2 * i + s] - lower[2 * i + s];
      if (sum <= best->score[s]) continue;
      best->score[s] = sum;
      best->place[s] = first + i;
    }
  }
}

/**
 * Looks at the codes in places from `from` on and before `behind`.
 *
 * @param seeds the colour seed of each context
 * @param rows ascending by cell
 * @param units for each row and colour its units by two scores
 * @param width the number of colours
 * @param keeps for each cut a bit for each number of codes of which a window begins or ends there
 * @param codes the codes of the places; null where each place is a code
 * @param work a struct work, then `(pieces + 1) * NUMBERS * SUMS` vectors, then `contexts * BLOCK` colours
 * @param found for each window what is best so far
 */
__attribute__((export_name("search")))
void search(const uint32_t *seeds, int contexts, const struct row *rows, int count, const char *units, int width,
            int pieces, const uint8_t *keeps, const struct window *windows, int number, const uint32_t *codes,
            uint32_t from, uint32_t behind, struct work *work, struct best *found) {
  v128_t *before = (v128_t *)(work + 1);
  uint16_t *chosen = (uint16_t *)(before + (pieces + 1) * NUMBERS * SUMS);
  const v128_t zero = wasm_i32x4_splat(0);
  for (uint32_t first = from; first < behind; first += BLOCK) {
    uint32_t length = behind - first < BLOCK ? behind - first : BLOCK;
    fold_codes(codes, first, length, (uint32_t *)work->folded);
    for (int i = 0; i < contexts; i++) colours(seeds[i], width, 3, work->folded, (v128_t *)(chosen + i * BLOCK));
    for (int k = 0; k < NUMBERS; k++) {
      for (int i = 0; i < SUMS; i++) work->running[k][i] = before[k * SUMS + i] = zero;
    }
    for (int piece = 0, r = 0; piece < pieces; piece++) {
      for (int k = 0; k < NUMBERS; k++) {
        v128_t *sums = work->piece[k];
        for (int i = 0; i < SUMS; i++) sums[i] = zero;
        for (int cell = NUMBERS * piece + k; r < count && rows[r].cell == cell; r++) {
          const char *row = units + 8 * width * r;
          const uint16_t *one = chosen + rows[r].context * BLOCK;
          if (r + 1 < count && rows[r + 1].cell == cell) {
            r++;
            add_two(sums, row, row + 8 * width, one, chosen + rows[r].context * BLOCK);
          } else {
            add(sums, row, one);
          }
        }
      }
      // What carries slot 0 in records of many codes does so in records of fewer.
      v128_t *cut = before + (piece + 1) * NUMBERS * SUMS;
      for (int k = NUMBERS - 1; k >= 0; k--) {
        for (int i = 0; i < SUMS; i++) {
          if (k + 1 < NUMBERS) work->piece[k][i] = wasm_i32x4_add(work->piece[k][i], work->piece[k + 1][i]);
          work->running[k][i] = wasm_i32x4_add(work->running[k][i], work->piece[k][i]);
          if (keeps[piece + 1] >> k & 1) cut[k * SUMS + i] = work->running[k][i];
        }
      }
    }
    for (int w = 0; w < number; w++) {
      const v128_t *sums = before + windows[w].number * SUMS;
      const int cuts = NUMBERS * SUMS;
      see(found + w, sums + windows[w].from * cuts, sums + windows[w].behind * cuts, first, length);
    }
  }
}
