// The scalar field of BLS12-381: m = 0x73eda753…00000001, 255 bits.
#pragma once

#include "mont.cuh"

namespace cuzk {

struct FrParameters {
    static constexpr int N = 8;
    // m
    static constexpr CUZK_FN uint32_t modulus(int i) {
        constexpr uint32_t words[N] = {0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
        return words[i];
    }
    // 2^256 mod m
    static constexpr CUZK_FN uint32_t one(int i) {
        constexpr uint32_t words[N] = {0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa, 0xecbc4ff5, 0x998c4fef, 0xacc5056f, 0x1824b159};
        return words[i];
    }
    // 2^512 mod m
    static constexpr CUZK_FN uint32_t r2(int i) {
        constexpr uint32_t words[N] = {0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb, 0x7254398f, 0x05d31496, 0x9f59ff11, 0x0748d9d9};
        return words[i];
    }
    // −m⁻¹ mod 2^32
    static constexpr uint32_t inverse = 0xffffffff;
};

using Fr = Mont<FrParameters>;

}  // namespace cuzk
