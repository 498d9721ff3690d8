// What all kernels use.
#pragma once

#include <cstdint>

namespace cuzk {

// The number of this thread in the grid, and of threads in it.
__device__ __forceinline__ uint32_t thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint32_t n_threads() { return gridDim.x * blockDim.x; }

// Replaces `n` numbers in shared memory by the sums of those before each, and returns the sum of all. For whole blocks of
// BLOCK threads.
template <uint32_t BLOCK>
__device__ uint32_t exclusive_scan(uint32_t *numbers, uint32_t n) {
    __shared__ uint32_t warp_sums[BLOCK / 32];
    __shared__ uint32_t total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (uint32_t first = 0; first < n; first += BLOCK) {
        const uint32_t index = first + threadIdx.x;
        const uint32_t number = index < n ? numbers[index] : 0;
        uint32_t sum = number;
        for (uint32_t distance = 1; distance < 32; distance *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, sum, distance);
            if (lane >= distance) sum += other;
        }
        if (lane == 31) warp_sums[warp] = sum;
        __syncthreads();
        uint32_t before = total;
        for (uint32_t other = 0; other < warp; other++) before += warp_sums[other];
        if (index < n) numbers[index] = before + sum - number;
        __syncthreads();
        if (threadIdx.x == BLOCK - 1) total = before + sum;
        __syncthreads();
    }
    return total;
}

}  // namespace cuzk
