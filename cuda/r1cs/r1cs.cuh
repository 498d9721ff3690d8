// A·w and B·w of a circuit that is a header and a repeated block: the parts that also run on a host.
//
// A row is a shape and a base, the greatest aux variable of its own section that it mentions; a shape is a list of terms
// for A and one for B. See crates/r1cs/src/shape.rs and template.rs, whose encodings these are.
#pragma once

#include "../ff/fr.cuh"

namespace cuzk {

// A row of a section.
struct Row {
    uint32_t shape, base;
};
static_assert(sizeof(Row) == 8, "as crates/gpu/src/r1cs.rs has it");

// Where a section's variables are in w = (inputs, aux).
struct Placement {
    uint64_t first_aux, first_input, header_aux;
};
static_assert(sizeof(Placement) == 24, "as crates/gpu/src/layout.rs has it");

// Terms of all shapes, A of shape s being list 2s and B list 2s + 1; `ends` are where lists end.
struct Shapes {
    const uint64_t *terms;
    const uint32_t *ends;
    const Fr *coefficients;
};
static_assert(sizeof(Shapes) == 24, "as crates/gpu/src/r1cs.rs has it");

// The value of a term's variable. The place of a term is in its upper half: a tag of two bits and an index.
CUZK_FN const Fr *variable(const Fr *w, const uint32_t *imports, const Placement &placement, uint32_t base,
                           uint64_t term) {
    const uint32_t place = static_cast<uint32_t>(term >> 32), index = place & 0x3fffffffu;
    switch (place >> 30) {
        case 0: return w + placement.first_aux + (base - index);
        case 1: return w + placement.header_aux + imports[index];
        case 2: return w + index;
        default: return w + placement.first_input + index;
    }
}

// One side of a row. A term whose variable is 0 or 1, as nearly all are, costs no multiplication.
CUZK_FN Fr factor(const Fr *w, const uint32_t *imports, const Placement &placement, const Shapes &shapes,
                  uint32_t list, uint32_t base) {
    Fr sum = Fr::zero();
    for (uint32_t i = list ? shapes.ends[list - 1] : 0; i < shapes.ends[list]; i++) {
        const uint64_t term = shapes.terms[i];
        const Fr value = *variable(w, imports, placement, base, term);
        if (value.is_zero()) continue;
        const Fr coefficient = shapes.coefficients[static_cast<uint32_t>(term)];
        sum = sum + (value == Fr::one() ? coefficient : coefficient * value);
    }
    return sum;
}

}  // namespace cuzk
