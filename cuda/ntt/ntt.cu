// Transforms: the kernels. See ntt.cuh.
#include "ntt.cuh"

#include "../kernel.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t BLOCK = 256;
// Twiddles of a level that a thread computes: a power by squaring is then a small part of the work.
constexpr uint32_t TWIDDLES_PER_THREAD = 64;
constexpr uint32_t MAX_LEVELS = 32;

// A root and a factor for each level, in Montgomery form.
struct Levels {
    Fr root[MAX_LEVELS], factor[MAX_LEVELS];
};

__device__ __forceinline__ void write(Fr *out, const Fr &value) {
    const uint32_t *w = value.word;
    uint4 *to = reinterpret_cast<uint4 *>(out);
    to[0] = make_uint4(w[0], w[1], w[2], w[3]);
    to[1] = make_uint4(w[4], w[5], w[6], w[7]);
}

// The last pass leaves canonical values.
template <bool UP>
__device__ __forceinline__ void pass(Fr *values, const Fr *table, const Pass &pass) {
    extern __shared__ uint4 shared[];
    const uint32_t n = pass.tile_elements(), columns = 1u << pass.log2_columns;
    TileMemory::Half *halves = reinterpret_cast<TileMemory::Half *>(shared);
    TileMemory memory = {halves, halves + n};
    const Tile tile = {pass, blockIdx.x};
    values += static_cast<uint64_t>(blockIdx.y) << pass.log2_n;
    const bool rows_first = pass.first_level == 0;
    const uint32_t rows = 1u << pass.levels;
    for (uint32_t i = threadIdx.x; i < n; i += BLOCK) {
        const uint32_t row = rows_first ? i & (rows - 1) : i >> pass.log2_columns;
        const uint32_t column = rows_first ? i >> pass.levels : i & (columns - 1);
        memory.set(row << pass.log2_columns | column, read(values + tile.element(row, column)));
    }
    for (uint32_t done = 0; done < pass.levels; done += ROUND_LEVELS) {
        __syncthreads();
        round_of_tile<UP>(memory, tile, table, done, threadIdx.x, BLOCK);
    }
    __syncthreads();
    const bool last = UP ? pass.first_level + pass.levels == pass.log2_n : rows_first;
    for (uint32_t i = threadIdx.x; i < n; i += BLOCK) {
        const uint32_t row = rows_first ? i & (rows - 1) : i >> pass.log2_columns;
        const uint32_t column = rows_first ? i >> pass.levels : i & (columns - 1);
        const Fr value = memory.get(row << pass.log2_columns | column);
        write(values + tile.element(row, column), last ? value.reduced() : value);
    }
}

}  // namespace

extern "C" {

// The twiddles of a level: table[h + j] = factor·root^j for j below h = 2^level.
__global__ void __launch_bounds__(BLOCK) cuzk_ntt_twiddles(Fr *table, Fr root, Fr factor, uint32_t level) {
    const uint64_t h = 1ull << level, first = static_cast<uint64_t>(thread_index()) * TWIDDLES_PER_THREAD;
    if (first >= h) return;
    Fr value = factor * power(root, first);
    for (uint64_t j = first; j < h && j < first + TWIDDLES_PER_THREAD; j++) {
        write(table + h + j, value);
        value = value * root;
    }
}

// A pass of an interpolation over gridDim.y vectors; a block a tile.
__global__ void __launch_bounds__(BLOCK, 3) cuzk_ntt_down(Fr *values, const Fr *table, Pass p) {
    pass<false>(values, table, p);
}

// A pass of an evaluation.
__global__ void __launch_bounds__(BLOCK, 3) cuzk_ntt_up(Fr *values, const Fr *table, Pass p) {
    pass<true>(values, table, p);
}

// out = a∘b for the first n elements and 0 from there to n_padded.
__global__ void __launch_bounds__(BLOCK)
    cuzk_hadamard(Fr *out, const Fr *a, const Fr *b, uint64_t n, uint64_t n_padded) {
    for (uint64_t i = thread_index(); i < n_padded; i += n_threads()) {
        write(out + i, i < n ? read(a + i) * read(b + i) : Fr::zero());
    }
}

// a = a_factor·a − b_factor·b.
__global__ void __launch_bounds__(BLOCK)
    cuzk_difference(Fr *a, const Fr *b, Fr a_factor, Fr b_factor, uint64_t n) {
    for (uint64_t i = thread_index(); i < n; i += n_threads()) {
        write(a + i, a[i] * a_factor - read(b + i) * b_factor);
    }
}

// values = 0 from `start` on.
__global__ void __launch_bounds__(BLOCK) cuzk_clear(Fr *values, uint64_t start, uint64_t end) {
    for (uint64_t i = start + thread_index(); i < end; i += n_threads()) write(values + i, Fr::zero());
}

}  // extern "C"
