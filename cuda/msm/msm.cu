// Multi-scalar sums: the kernels. See msm.cuh for the method, and crates/gpu/src/msm.rs for the order of launches.
//
// A term is a scalar and the number of its base. Terms whose scalar is 0 are dropped, those whose scalar is 1 go to a list
// of their own, and the rest is sorted by (window, |digit|), first into bins by the window and the high bits of |digit|,
// then, a bin to a block, by the low bits. That much is a plan, which serves every query whose bases have these scalars. The
// points of each bucket are summed by one thread, long runs by several, the longest runs first; or first by groups of
// 2^levels neighbours, and then the sums of groups. Order within a bucket depends on timing; sums do not.
#include "msm.cuh"

#include "../kernel.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t BLOCK = 256;
// Terms of a block of `digits` and `fill_bins`: enough that a bin gets some 16 of its 8-byte entries in a row.
constexpr uint32_t TERMS_PER_THREAD = 16;
constexpr uint32_t TERMS_PER_BLOCK = TERMS_PER_THREAD * BLOCK;
// Threads of `sort_bins`.
constexpr uint32_t SORT_BLOCK = 512;
// Threads of `scan_bins`.
constexpr uint32_t SCAN_BLOCK = 1024;

// How digits become bins and buckets: bucket (window, |digit| − 1) is `low` of bin (window, high bits).
struct Bins {
    uint32_t high_bits, low_bits;
};
static_assert(sizeof(Bins) == 8, "as crates/gpu/src/layout.rs has it");

// Buckets and ones begin at multiples of 2^levels and are filled up to one with NO_POINT, so that groups are of one bucket.
struct Alignment {
    uint32_t levels;
    CUZK_FN uint32_t up(uint32_t place) const { return groups(place) << levels; }
    CUZK_FN uint32_t groups(uint32_t n) const { return (n + (1u << levels) - 1) >> levels; }
};
static_assert(sizeof(Alignment) == 4, "as crates/gpu/src/layout.rs has it");

// A run of references to points, and where their sum goes: a bucket, or with PARTIAL set a place among the partial sums.
struct Part {
    uint32_t start, length, destination;
};
constexpr uint32_t PARTIAL = 0x80000000u;

// A bucket whose points are summed in several parts: their sums lie one after the other.
struct LongRun {
    uint32_t first, n, destination;
};

// Counters of a plan, all zero at first. `references` is that of places among them, NO_POINT included.
struct Counts {
    uint32_t ones, rest, parts, partial_sums, long_runs, references;
};
static_assert(sizeof(Part) == 12 && sizeof(LongRun) == 12 && sizeof(Counts) == 24, "as crates/gpu/src/msm.rs has it");

__device__ __forceinline__ uint32_t reserve(uint32_t *counter, bool wanted) {
    const uint32_t mask = __ballot_sync(~0u, wanted);
    if (mask == 0) return 0;
    const uint32_t lane = threadIdx.x % 32, leader = __ffs(mask) - 1;
    uint32_t first = 0;
    if (lane == leader) first = atomicAdd(counter, __popc(mask));
    return __shfl_sync(~0u, first, leader) + __popc(mask & ((1u << lane) - 1));
}

template <class F>
__device__ __forceinline__ void load(F &out, const F *in) {
    static_assert(sizeof(F) % 16 == 0, "vectors of 16 bytes");
    uint4 *to = reinterpret_cast<uint4 *>(&out);
    const uint4 *from = reinterpret_cast<const uint4 *>(in);
#pragma unroll
    for (uint32_t i = 0; i < sizeof(F) / 16; i++) to[i] = __ldg(from + i);
}

// bucket_sums[…] or partial_sums[…] = Σ of a part's points; without `order`, those are the points' own numbers.
template <class F>
__device__ void sum_part(Xyzz<F> *bucket_sums, Xyzz<F> *partial_sums, const Affine<F> *bases,
                         const uint32_t *order, const Part *parts, const Counts *counts) {
    if (thread_index() >= counts->parts) return;
    uint32_t i = parts[thread_index()].start;
    const uint32_t end = i + parts[thread_index()].length;
    Xyzz<F> sum = Xyzz<F>::infinity();
    for (; i != end; i++) {
        const uint32_t reference = order ? order[i] : i;
        Affine<F> point;
        load(point, bases + (reference & ~NEGATE));
        point.y = point.y.negated_if(reference & NEGATE);
        sum.add(point);
    }
    // Read only now, so that no register holds it meanwhile.
    const uint32_t destination = parts[thread_index()].destination;
    Xyzz<F> *out = destination & PARTIAL ? partial_sums : bucket_sums;
    out[destination & ~PARTIAL] = sum;
}

// The equal shares, none above `most`, in which n ≥ 1 are taken.
__device__ __forceinline__ uint32_t even_share(uint32_t n, uint32_t most) {
    const uint32_t n_shares = (n + most - 1) / most;
    return (n + n_shares - 1) / n_shares;
}

// The sum of points[place(i)] for i below n by a block of THREADS = 2^k: one a thread, or several, then a tree. All additions
// are in one place, as compilers take long over each.
template <class F, uint32_t THREADS, class Place>
__device__ Xyzz<F> sum_by_block(const Xyzz<F> *points, uint32_t n, Place place) {
    extern __shared__ uint4 shared[];
    Xyzz<F> *sums = reinterpret_cast<Xyzz<F> *>(shared);
    Xyzz<F> sum = Xyzz<F>::infinity();
    uint32_t i = threadIdx.x, half = THREADS / 2;
    for (uint32_t round = 0;; round++) {
        const bool of_points = round * THREADS < n;
        if (!of_points) {
            if (half == 0) return sum;
            __syncthreads();
            if (threadIdx.x >= half && threadIdx.x < 2 * half) sums[threadIdx.x] = sum;
            __syncthreads();
        }
        const bool wanted = of_points ? i < n : threadIdx.x < half;
        if (wanted) sum.add(of_points ? points[place(i)] : sums[threadIdx.x + half]);
        if (of_points) {
            i += THREADS;
        } else {
            half /= 2;
        }
    }
}

struct Identity {
    __device__ uint32_t operator()(uint32_t i) const { return i; }
};

// The i-th number with a one at `bit`.
struct WithBit {
    uint32_t bit;
    __device__ uint32_t operator()(uint32_t i) const {
        return i >> bit << (bit + 1) | 1u << bit | (i & ((1u << bit) - 1));
    }
};

// The sums of long runs from those of their parts.
template <class F, uint32_t THREADS>
__device__ void join_parts(Xyzz<F> *bucket_sums, const Xyzz<F> *partial_sums, const LongRun *runs,
                           const Counts *counts) {
    for (uint32_t index = blockIdx.x; index < counts->long_runs; index += gridDim.x) {
        const LongRun run = runs[index];
        const Xyzz<F> sum = sum_by_block<F, THREADS>(partial_sums + run.first, run.n, Identity());
        if (threadIdx.x == 0) bucket_sums[run.destination] = sum;
        __syncthreads();
    }
}

// For each `factor` neighbours of n·factor buckets: S, their sum, and T = Σ (i + 1)·bucketᵢ over them. Two additions a bucket.
template <class F>
__device__ void weigh(Xyzz<F> *s_out, Xyzz<F> *t_out, const Xyzz<F> *buckets, uint32_t n, uint32_t factor) {
    const uint32_t index = thread_index();
    if (index >= n) return;
    buckets += static_cast<size_t>(index) * factor;
    Xyzz<F> running = Xyzz<F>::infinity(), weighted = Xyzz<F>::infinity();
    // One place for both additions, as above.
    for (uint32_t i = 2 * factor; i > 0; i--) {
        const bool run = i % 2 == 0;
        Xyzz<F> sum = run ? running : weighted;
        sum.add(run ? buckets[i / 2 - 1] : running);
        (run ? running : weighted) = sum;
    }
    s_out[index] = running;
    t_out[index] = weighted;
}

// x = X/Z², y = Y/Z³; infinity has Z = 0.
template <class F>
struct Jacobian {
    F x, y, z;
};

// With Z = ZZ: X·ZZ/ZZ² = x, and Y·ZZZ/ZZ³ = y since ZZ³ = ZZZ².
template <class F>
__device__ Jacobian<F> jacobian(const Xyzz<F> &point) {
    return {point.x * point.zz, point.y * point.zzz, point.zz};
}

}  // namespace

extern "C" {

// Sorts out the terms of n bases from number `first` on: the scalar of base b is w[columns[b]], without columns w[b], or with
// `reversed_bits` other than 0 the element of w at the reversal of so many bits of b. References count from `first`.
__global__ void __launch_bounds__(BLOCK)
    cuzk_msm_classify(uint32_t *ones, uint32_t *rest, Magnitude *magnitudes, Counts *counts, const Fr *w,
                      const uint32_t *columns, uint32_t first, uint32_t n, uint32_t reversed_bits) {
    for (uint32_t start = blockIdx.x * BLOCK; start < n; start += gridDim.x * BLOCK) {
        const uint32_t i = start + threadIdx.x, base = first + i;
        const bool there = i < n;
        Fr scalar = Fr::zero();
        if (there) load(scalar, w + (columns ? columns[base] : reversed_bits ? __brev(base) >> (32 - reversed_bits) : base));
        const bool one = there && scalar == Fr::one();
        const bool other = there && !one && !scalar.is_zero();
        const uint32_t one_place = reserve(&counts->ones, one);
        if (one) ones[one_place] = i;
        const uint32_t place = reserve(&counts->rest, other);
        if (other) {
            rest[place] = i;
            magnitudes[place] = magnitude_of(scalar);
        }
    }
}

// The digits of n scalars, window after window, and how many other than 0 each bin has. A digit is |digit|, marked with
// NEGATE.
__global__ void __launch_bounds__(BLOCK)
    cuzk_msm_digits(uint32_t *digits, uint32_t *bin_counts, const Magnitude *magnitudes, uint32_t n, Windows windows,
                    Bins bins, uint32_t n_bins) {
    extern __shared__ uint32_t histogram[];
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += BLOCK) histogram[bin] = 0;
    __syncthreads();
    const uint32_t first = blockIdx.x * TERMS_PER_BLOCK;
    for (uint32_t i = first + threadIdx.x; i < min(n, first + TERMS_PER_BLOCK); i += BLOCK) {
        Digits all(magnitudes[i], windows);
        for (uint32_t window = 0; window < windows.n; window++) {
            const int32_t digit = all.next(windows.bits, window + 1 == windows.n);
            const uint32_t magnitude = static_cast<uint32_t>(abs(digit));
            digits[static_cast<size_t>(window) * n + i] = magnitude | (digit < 0 ? NEGATE : 0);
            if (magnitude) atomicAdd(&histogram[window << bins.high_bits | (magnitude - 1) >> bins.low_bits], 1);
        }
    }
    __syncthreads();
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += BLOCK) {
        if (histogram[bin]) atomicAdd(&bin_counts[bin], histogram[bin]);
    }
}

// From counts to starts: `bin_starts` has n_bins + 1 entries, `cursors` is a copy. The ones are filled up. One block.
__global__ void __launch_bounds__(SCAN_BLOCK)
    cuzk_msm_scan_bins(uint32_t *bin_starts, uint32_t *cursors, uint32_t *order, Counts *counts,
                       const uint32_t *bin_counts, uint32_t n_bins, Alignment alignment) {
    extern __shared__ uint32_t starts[];
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += SCAN_BLOCK) starts[bin] = bin_counts[bin];
    __syncthreads();
    const uint32_t total = exclusive_scan<SCAN_BLOCK>(starts, n_bins);
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += SCAN_BLOCK) {
        bin_starts[bin] = cursors[bin] = starts[bin];
    }
    if (threadIdx.x == 0) {
        bin_starts[n_bins] = total;
        for (uint32_t place = counts->ones; place < alignment.up(counts->ones); place++) order[place] = NO_POINT;
        counts->references = alignment.up(counts->ones);
    }
}

// Puts the references of a window's digits into their bins, each with its bucket's low bits. blockIdx.y is the window. A block
// sorts its own by bin first, so that they are written in runs.
__global__ void __launch_bounds__(BLOCK)
    cuzk_msm_fill_bins(uint2 *entries, uint32_t *cursors, const uint32_t *rest, const uint32_t *digits, uint32_t n,
                       Bins bins) {
    extern __shared__ uint4 shared[];
    uint2 *sorted = reinterpret_cast<uint2 *>(shared);
    const uint32_t n_bins = 1u << bins.high_bits;
    uint32_t *starts = reinterpret_cast<uint32_t *>(sorted + TERMS_PER_BLOCK), *places = starts + n_bins;
    const uint32_t window = blockIdx.y, first = blockIdx.x * TERMS_PER_BLOCK + threadIdx.x;
    digits += static_cast<size_t>(window) * n;
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += BLOCK) starts[bin] = 0;
    __syncthreads();
    uint32_t digit[TERMS_PER_THREAD], rank[TERMS_PER_THREAD];
#pragma unroll
    for (uint32_t k = 0; k < TERMS_PER_THREAD; k++) {
        const uint32_t i = first + k * BLOCK;
        digit[k] = i < n ? digits[i] : 0;
        const uint32_t bucket = (digit[k] & ~NEGATE) - 1;
        if (digit[k]) rank[k] = atomicAdd(&starts[bucket >> bins.low_bits], 1);
    }
    __syncthreads();
    for (uint32_t bin = threadIdx.x; bin < n_bins; bin += BLOCK) {
        if (starts[bin]) places[bin] = atomicAdd(&cursors[window << bins.high_bits | bin], starts[bin]);
    }
    const uint32_t total = exclusive_scan<BLOCK>(starts, n_bins);
#pragma unroll
    for (uint32_t k = 0; k < TERMS_PER_THREAD; k++) {
        if (digit[k]) {
            const uint32_t bucket = (digit[k] & ~NEGATE) - 1;
            const uint32_t reference = rest[first + k * BLOCK] | (digit[k] & NEGATE);
            sorted[starts[bucket >> bins.low_bits] + rank[k]] = make_uint2(bucket, reference);
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < total; i += BLOCK) {
        const uint2 entry = sorted[i];
        const uint32_t bin = entry.x >> bins.low_bits, low = entry.x & ((1u << bins.low_bits) - 1);
        entries[places[bin] + i - starts[bin]] = make_uint2(low, entry.y);
    }
}

// Sorts a bin into its buckets: `order`, and where each bucket starts and ends in it. A block a bin; bins lie in `order` as
// blocks come to it. Those that have room in shared memory, of `staged` references, are written in one go.
__global__ void __launch_bounds__(SORT_BLOCK)
    cuzk_msm_sort_bins(uint32_t *order, uint2 *bucket_bounds, Counts *counts, const uint2 *entries,
                       const uint32_t *bin_starts, uint32_t staged, Bins bins, Alignment alignment) {
    extern __shared__ uint32_t places[];
    __shared__ uint32_t start;
    const uint32_t bin = blockIdx.x, n_buckets = 1u << bins.low_bits;
    uint32_t *references = places + n_buckets;
    const uint32_t n = bin_starts[bin + 1] - bin_starts[bin];
    entries += bin_starts[bin];
    for (uint32_t bucket = threadIdx.x; bucket < n_buckets; bucket += SORT_BLOCK) places[bucket] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += SORT_BLOCK) atomicAdd(&places[entries[i].x], 1);
    __syncthreads();
    for (uint32_t bucket = threadIdx.x; bucket < n_buckets; bucket += SORT_BLOCK) {
        places[bucket] = alignment.up(places[bucket]);
    }
    __syncthreads();
    const uint32_t total = exclusive_scan<SORT_BLOCK>(places, n_buckets);
    if (threadIdx.x == 0) start = atomicAdd(&counts->references, total);
    __syncthreads();
    order += start;
    const bool in_shared = total <= staged;
    uint32_t *out = in_shared ? references : order;
    for (uint32_t i = threadIdx.x; i < n; i += SORT_BLOCK) {
        const uint2 entry = entries[i];
        out[atomicAdd(&places[entry.x], 1)] = entry.y;
    }
    __syncthreads();
    // Each place has moved on to its bucket's end.
    for (uint32_t bucket = threadIdx.x; bucket < n_buckets; bucket += SORT_BLOCK) {
        const uint32_t first = bucket ? alignment.up(places[bucket - 1]) : 0, end = places[bucket];
        bucket_bounds[(bin << bins.low_bits) + bucket] = make_uint2(start + first, start + end);
        for (uint32_t place = end; place < alignment.up(end); place++) out[place] = NO_POINT;
    }
    if (in_shared) {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < total; i += SORT_BLOCK) order[i] = references[i];
    }
}

// The bounds of run `index` in groups: the buckets, then `n_ones_runs` equal shares of the ones.
__device__ __forceinline__ uint2 run_bounds(const uint2 *bucket_bounds, const Counts *counts, uint32_t n_buckets,
                                            uint32_t n_ones_runs, uint32_t index, Alignment alignment) {
    if (index < n_buckets) {
        const uint2 bounds = bucket_bounds[index];
        return make_uint2(alignment.groups(bounds.x), alignment.groups(bounds.y));
    }
    const uint64_t share = index - n_buckets, n = alignment.groups(counts->ones);
    return make_uint2(n * share / n_ones_runs, n * (share + 1) / n_ones_runs);
}

// How many parts of each length the runs have: `length_counts[max_length − length]`.
__global__ void __launch_bounds__(BLOCK)
    cuzk_msm_count_parts(uint32_t *length_counts, Counts *counts, const uint2 *bucket_bounds, uint32_t n_buckets,
                         uint32_t n_ones_runs, uint32_t max_length, Alignment alignment) {
    extern __shared__ uint32_t histogram[];
    for (uint32_t i = threadIdx.x; i < max_length; i += BLOCK) histogram[i] = 0;
    __syncthreads();
    const uint32_t n_runs = n_buckets + n_ones_runs;
    for (uint32_t index = thread_index(); index < n_runs; index += n_threads()) {
        const uint2 bounds = run_bounds(bucket_bounds, counts, n_buckets, n_ones_runs, index, alignment);
        const uint32_t length = bounds.y - bounds.x;
        if (length / max_length) atomicAdd(&histogram[0], length / max_length);
        if (length % max_length) atomicAdd(&histogram[max_length - length % max_length], 1);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < max_length; i += BLOCK) {
        if (histogram[i]) atomicAdd(&length_counts[i], histogram[i]);
    }
}

// From counts to places. One block.
__global__ void __launch_bounds__(SCAN_BLOCK)
    cuzk_msm_scan_parts(uint32_t *length_counts, Counts *counts, uint32_t max_length) {
    extern __shared__ uint32_t starts[];
    for (uint32_t i = threadIdx.x; i < max_length; i += SCAN_BLOCK) starts[i] = length_counts[i];
    __syncthreads();
    const uint32_t total = exclusive_scan<SCAN_BLOCK>(starts, max_length);
    for (uint32_t i = threadIdx.x; i < max_length; i += SCAN_BLOCK) length_counts[i] = starts[i];
    if (threadIdx.x == 0) counts->parts = total;
}

// The parts, longest first. A run of several parts is noted among the long ones.
__global__ void __launch_bounds__(BLOCK)
    cuzk_msm_place_parts(Part *parts, LongRun *long_runs, uint32_t *places, Counts *counts,
                         const uint2 *bucket_bounds, uint32_t n_buckets, uint32_t n_ones_runs, uint32_t max_length,
                         Alignment alignment) {
    extern __shared__ uint32_t histogram[];
    const uint32_t n_runs = n_buckets + n_ones_runs;
    // A block's places of a length are reserved together.
    for (uint32_t first = blockIdx.x * BLOCK; first < n_runs; first += gridDim.x * BLOCK) {
        for (uint32_t i = threadIdx.x; i < max_length; i += BLOCK) histogram[i] = 0;
        __syncthreads();
        const uint32_t index = first + threadIdx.x;
        uint2 bounds = make_uint2(0, 0);
        if (index < n_runs) bounds = run_bounds(bucket_bounds, counts, n_buckets, n_ones_runs, index, alignment);
        const uint32_t length = bounds.y - bounds.x;
        const uint32_t n_full = length / max_length, last = length % max_length;
        uint32_t full_rank = 0, last_rank = 0;
        if (n_full) full_rank = atomicAdd(&histogram[0], n_full);
        if (last) last_rank = atomicAdd(&histogram[max_length - last], 1);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < max_length; i += BLOCK) {
            if (histogram[i]) histogram[i] = atomicAdd(&places[i], histogram[i]);
        }
        __syncthreads();
        const uint32_t n_parts = n_full + (last != 0);
        uint32_t destination = index;
        if (n_parts > 1) {
            const uint32_t first_sum = atomicAdd(&counts->partial_sums, n_parts);
            long_runs[atomicAdd(&counts->long_runs, 1)] = {first_sum, n_parts, index};
            destination = first_sum | PARTIAL;
        }
        for (uint32_t k = 0; k < n_full; k++) {
            parts[histogram[0] + full_rank + k] = {bounds.x + k * max_length, max_length, destination + k};
        }
        if (last) {
            parts[histogram[max_length - last] + last_rank] = {bounds.x + n_full * max_length, last,
                                                               destination + n_full};
        }
        __syncthreads();
    }
}

// Groups have one block a multiprocessor, whose threads are at the same place of the code: 60M references in G1 took 16.0 ms in
// blocks of 512, 16.5 in two of 256, 16.9 in four of 128 and 18.1 in three (one H200, 2026-11-30).
#define CUZK_MSM(NAME, F, SUM_THREADS, SUM_BLOCKS, GROUP_THREADS, JOIN_THREADS)                                    \
    /* sums[g] = the sum of the 2^levels points from reference g·2^levels on. A thread takes up to `most` groups at */ \
    /* a time, as many as others, and has `most`·2^(levels − 1) places in both scratch memories. */                 \
    __global__ void __launch_bounds__(GROUP_THREADS, 1)                                                            \
        cuzk_msm_add_groups_##NAME(Affine<F> *sums, Affine<F> *scratch, F *products, const Affine<F> *bases,       \
                                   const uint32_t *order, const Counts *counts, Alignment alignment,               \
                                   uint32_t most) {                                                                \
        const uint32_t n = counts->references >> alignment.levels, threads = n_threads();                          \
        if (n == 0) return;                                                                                        \
        const uint32_t a_thread = (n + threads - 1) / threads;                                                     \
        const uint32_t at_a_time = even_share(a_thread, most);                                                     \
        const GroupMemory<F> memory = {scratch + thread_index(), products + thread_index(), threads};              \
        for (uint32_t first = thread_index(); first < n; first += at_a_time * threads) {                           \
            const uint32_t end = min(static_cast<uint64_t>(n), first + static_cast<uint64_t>(at_a_time) * threads); \
            Groups<F>{bases, order, memory, alignment.levels, first, threads, end}.add(sums);                      \
        }                                                                                                          \
    }                                                                                                              \
    __global__ void __launch_bounds__(SUM_THREADS, SUM_BLOCKS)                                                     \
        cuzk_msm_sum_parts_##NAME(Xyzz<F> *bucket_sums, Xyzz<F> *partial_sums, const Affine<F> *bases,             \
                                  const uint32_t *order, const Part *parts, const Counts *counts) {                \
        sum_part<F>(bucket_sums, partial_sums, bases, order, parts, counts);                                       \
    }                                                                                                              \
    __global__ void __launch_bounds__(JOIN_THREADS)                                                                \
        cuzk_msm_join_parts_##NAME(Xyzz<F> *bucket_sums, const Xyzz<F> *partial_sums, const LongRun *runs,         \
                                   const Counts *counts) {                                                         \
        join_parts<F, JOIN_THREADS>(bucket_sums, partial_sums, runs, counts);                                      \
    }                                                                                                              \
    __global__ void __launch_bounds__(JOIN_THREADS)                                                                \
        cuzk_msm_weigh_##NAME(Xyzz<F> *s_out, Xyzz<F> *t_out, const Xyzz<F> *buckets, uint32_t n,                  \
                              uint32_t factor) {                                                                   \
        weigh<F>(s_out, t_out, buckets, n, factor);                                                                \
    }                                                                                                              \
    /* For each window of 2^log2_n sums (Sₖ, Tₖ): Σ Tₖ, then for each bit Σ Sₖ over the k that have it. After all */ \
    /* windows, the sum of the ones. A block for each. */                                                          \
    __global__ void __launch_bounds__(JOIN_THREADS)                                                                \
        cuzk_msm_finish_##NAME(Jacobian<F> *out, const Xyzz<F> *s, const Xyzz<F> *t, const Xyzz<F> *ones,          \
                               uint32_t n_windows, uint32_t log2_n, uint32_t n_ones_runs) {                        \
        const uint32_t window = blockIdx.x / (log2_n + 1), task = blockIdx.x % (log2_n + 1);                       \
        const size_t first = static_cast<size_t>(window) << log2_n;                                                \
        const bool of_ones = window == n_windows, of_bit = !of_ones && task;                                       \
        const Xyzz<F> *points = of_ones ? ones : of_bit ? s + first : t + first;                                   \
        const uint32_t n = of_ones ? n_ones_runs : of_bit ? 1u << log2_n >> 1 : 1u << log2_n;                      \
        const WithBit with_bit = {task - 1};                                                                       \
        const Xyzz<F> sum = sum_by_block<F, JOIN_THREADS>(                                                         \
            points, n, [&](uint32_t i) { return of_bit ? with_bit(i) : i; });                                      \
        if (threadIdx.x == 0) out[blockIdx.x] = jacobian(sum);                                                     \
    }

CUZK_MSM(g1, Fp, 128, 3, 512, 128)
CUZK_MSM(g2, Fp2, 64, 2, 128, 64)

}  // extern "C"
