// Transforms over Fr of n = 2^log2_n elements: the parts that also run on a host.
//
// The levels of a transform are split into passes; a pass takes tiles of 2^levels rows and a few columns through its levels
// in shared memory, up to three levels at a time in registers. Interpolation goes down the levels, from natural to
// bit-reversed order; evaluation goes up and back.
//
// The twiddles of level l, which pairs elements h = 2^l apart, are at table[h + j] for j below h: ω_2h^j times a factor of
// the level. With the factor g^(n/2h) an evaluation lands on the coset g·D, at no cost; its inverse comes back from there.
// Interpolation does not divide by n. Together n/2·log2_n multiplications.
//
// Between the levels values are in [0, 2r); the last pass reduces them. n is at most 2^31.
#pragma once

#include "../ff/fr.cuh"

namespace cuzk {

// Levels first_level … first_level + levels − 1, over tiles of 2^levels rows and 2^log2_columns columns.
struct Pass {
    uint32_t log2_n, first_level, levels, log2_columns;

    CUZK_FN uint32_t tile_elements() const { return 1u << (levels + log2_columns); }
};
static_assert(sizeof(Pass) == 16, "as crates/gpu/src/layout.rs has it");

// A tile: where its elements are, and what twiddles they meet.
struct Tile {
    Pass pass;
    uint32_t number;

    // The element in `row` and `column`. From level 0 on the columns are neighbouring blocks, else neighbouring elements.
    CUZK_FN uint32_t element(uint32_t row, uint32_t column) const {
        if (pass.first_level == 0) {
            return ((number << pass.log2_columns | column) << pass.levels) + row;
        }
        const uint32_t log2_tiles = pass.first_level - pass.log2_columns;
        const uint32_t block = number >> log2_tiles, tile = number & ((1u << log2_tiles) - 1);
        return (block << (pass.first_level + pass.levels)) + (row << pass.first_level) + (tile << pass.log2_columns) +
               column;
    }

    // The twiddle of the pair whose lower element is in `row`, at a level of the pass.
    CUZK_FN uint32_t twiddle(uint32_t level, uint32_t row, uint32_t column) const {
        const uint32_t half = 1u << (pass.first_level + level);
        return half + (element(row, column) & (half - 1));
    }
};

// The memory of a tile: each element's halves in two arrays, so that neighbouring threads meet different banks.
struct TileMemory {
    struct alignas(16) Half {
        uint32_t word[4];
    };
    Half *low, *high;

    CUZK_FN Fr get(uint32_t index) const {
        const Half a = low[index], b = high[index];
        return {{a.word[0], a.word[1], a.word[2], a.word[3], b.word[0], b.word[1], b.word[2], b.word[3]}};
    }
    CUZK_FN void set(uint32_t index, const Fr &value) {
        const uint32_t *w = value.word;
        low[index] = {{w[0], w[1], w[2], w[3]}};
        high[index] = {{w[4], w[5], w[6], w[7]}};
    }
};

#if defined(__CUDA_ARCH__)
CUZK_FN Fr read(const Fr *in) {
    Fr out;
    const uint4 *from = reinterpret_cast<const uint4 *>(in);
    const uint4 a = __ldg(from), b = __ldg(from + 1);
    out = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    return out;
}
#else
CUZK_FN Fr read(const Fr *in) { return *in; }
#endif

// Item `item` of tile_elements/2^M: levels level … level + M − 1 of the pass for the 2^M elements that meet in them.
// UP: (u, v) → (u + v·w, u − v·w) from the lowest level on; else (u, v) → (u + v, (u − v)·w) from the highest.
template <uint32_t M, bool UP>
CUZK_FN void levels_of_item(TileMemory memory, const Tile &tile, const Fr *table, uint32_t level, uint32_t item) {
    constexpr uint32_t R = 1u << M;
    const uint32_t log2_columns = tile.pass.log2_columns;
    const uint32_t column = item & ((1u << log2_columns) - 1), rest = item >> log2_columns;
    const uint32_t low = rest & ((1u << level) - 1), high = rest >> level;
    const uint32_t first_row = high << (level + M) | low;
    Fr value[R];
#pragma unroll
    for (uint32_t i = 0; i < R; i++) value[i] = memory.get((first_row + (i << level)) << log2_columns | column);
#pragma unroll
    for (uint32_t step = 0; step < M; step++) {
        const uint32_t own_level = UP ? step : M - 1 - step;
        const uint32_t half = 1u << own_level;
#pragma unroll
        for (uint32_t place = 0; place < half; place++) {
            const Fr w = read(table + tile.twiddle(level + own_level, first_row + (place << level), column));
#pragma unroll
            for (uint32_t block = 0; block < R; block += 2 * half) {
                Fr &u = value[block + place], &v = value[block + place + half];
                if (UP) {
                    const Fr product = v.times_lazy(w);
                    v = u.minus_lazy(product);
                    u = u.plus_lazy(product);
                } else {
                    const Fr difference = u.minus_lazy(v);
                    u = u.plus_lazy(v);
                    v = difference.times_lazy(w);
                }
            }
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < R; i++) memory.set((first_row + (i << level)) << log2_columns | column, value[i]);
}

// Levels of a round, in registers: with three, a thread needs so many that too few fit a multiprocessor (transforms of 2^24
// took 4.86 ms with three levels and two blocks a multiprocessor, 4.69 ms with two levels and three blocks; one H200,
// 2026-11-29).
constexpr uint32_t ROUND_LEVELS = 2;

// All items of a round for one of `n_threads` threads.
template <bool UP>
CUZK_FN void round_of_tile(TileMemory memory, const Tile &tile, const Fr *table, uint32_t done, uint32_t thread,
                           uint32_t n_threads) {
    const uint32_t levels = tile.pass.levels, m = levels - done < ROUND_LEVELS ? levels - done : ROUND_LEVELS;
    const uint32_t level = UP ? done : levels - done - m;
    for (uint32_t item = thread; item < tile.pass.tile_elements() >> m; item += n_threads) {
        if (m == 2) {
            levels_of_item<2, UP>(memory, tile, table, level, item);
        } else {
            levels_of_item<1, UP>(memory, tile, table, level, item);
        }
    }
}

// base^exponent.
CUZK_FN Fr power(Fr base, uint64_t exponent) {
    Fr result = Fr::one();
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result * base;
        base = base.squared();
    }
    return result;
}

}  // namespace cuzk
