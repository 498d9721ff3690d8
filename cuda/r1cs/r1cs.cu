// Witness and evaluation: the kernels. See r1cs.cuh.
#include "r1cs.cuh"

#include "../kernel.cuh"

using namespace cuzk;

namespace {

constexpr uint32_t BLOCK = 256;

}  // namespace

extern "C" {

// aux from a packed witness: variables marked in `is_bit` come from `bits`, the others in order from `scalars`; `ranks` has
// the number of scalars before each 64 variables.
__global__ void __launch_bounds__(BLOCK)
    cuzk_unpack(Fr *aux, const uint64_t *is_bit, const uint32_t *ranks, const uint64_t *bits, const Fr *scalars,
                uint64_t n) {
    for (uint64_t i = thread_index(); i < n; i += n_threads()) {
        const uint64_t known = is_bit[i / 64], mask = 1ull << (i % 64);
        Fr value = Fr::zero();
        if (known & mask) {
            if (bits[i / 64] & mask) value = Fr::one();
        } else {
            value = scalars[ranks[i / 64] + __popcll(~known & (mask - 1))];
        }
        aux[i] = value;
    }
}

// a and b of one section's rows; blockIdx.y is its instance, whose variables, rows and imports lie `instance…` further.
__global__ void __launch_bounds__(BLOCK)
    cuzk_evaluate(Fr *a, Fr *b, const Fr *w, const Row *rows, const uint32_t *imports, Shapes shapes,
                  Placement placement, uint32_t n_rows, uint32_t instance_aux, uint32_t instance_inputs,
                  uint32_t instance_imports) {
    const uint64_t instance = blockIdx.y;
    placement.first_aux += instance * instance_aux;
    placement.first_input += instance * instance_inputs;
    imports += instance * instance_imports;
    a += instance * n_rows;
    b += instance * n_rows;
    for (uint32_t i = thread_index(); i < n_rows; i += n_threads()) {
        const Row row = rows[i];
        a[i] = factor(w, imports, placement, shapes, 2 * row.shape, row.base);
        b[i] = factor(w, imports, placement, shapes, 2 * row.shape + 1, row.base);
    }
}

}  // extern "C"
