// Words of 32 bits with a carry from one operation to the next.
//
// On the device the carry is the machine's flag: each operation is one PTX instruction, and a chain of them must not be
// interrupted by other arithmetic. ptxas makes one IMAD.WIDE of neighbouring mad.lo.cc and madc.hi.cc. On the host the
// same chains run in plain C++ with the flag in a variable.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define CUZK_FN __host__ __device__ __forceinline__
#define CUZK_CALL __host__ __device__ __noinline__
#else
// What is inlined is left to the compiler: all of it would be minutes of work.
#define CUZK_FN inline
#define CUZK_CALL inline __attribute__((noinline))
#endif

namespace cuzk {

#if defined(__CUDA_ARCH__)
// The machine has the flag.
struct Carry {};
#else
struct Carry {
    uint32_t flag = 0;
};
#endif

#if defined(__CUDA_ARCH__)
// Both halves of a·b + (c, d), in one statement, of which ptxas makes one instruction.
#define CUZK_PAIR(NAME, LOW, HIGH)                                                                           \
    __device__ __forceinline__ void NAME(Carry &, uint32_t &low, uint32_t &high, uint32_t a, uint32_t b,     \
                                         uint32_t c, uint32_t d) {                                           \
        asm volatile(LOW " %0, %2, %3, %4;\n\t" HIGH " %1, %2, %3, %5;"                                      \
                     : "=&r"(low), "=r"(high)                                                                \
                     : "r"(a), "r"(b), "r"(c), "r"(d));                                                      \
    }
#define CUZK_BINARY(NAME, PTX)                                                                               \
    __device__ __forceinline__ uint32_t NAME(Carry &, uint32_t a, uint32_t b) {                              \
        uint32_t d;                                                                                          \
        asm volatile(PTX " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));                                         \
        return d;                                                                                            \
    }
// The last part of a name: what becomes of the carry. start: none comes in; none: none goes out, the sum must fit.
CUZK_BINARY(add_start, "add.cc.u32")
CUZK_BINARY(add_chain, "addc.cc.u32")
CUZK_BINARY(add_end, "addc.u32")
CUZK_BINARY(sub_start, "sub.cc.u32")
CUZK_BINARY(sub_chain, "subc.cc.u32")
CUZK_BINARY(sub_end, "subc.u32")
CUZK_PAIR(mad_start, "mad.lo.cc.u32", "madc.hi.cc.u32")
CUZK_PAIR(mad_chain, "madc.lo.cc.u32", "madc.hi.cc.u32")
CUZK_PAIR(mad_end, "madc.lo.cc.u32", "madc.hi.u32")
#undef CUZK_PAIR
#undef CUZK_BINARY
#else
CUZK_FN uint32_t take(Carry &carry, uint64_t sum) {
    carry.flag = static_cast<uint32_t>(sum >> 32) & 1;
    return static_cast<uint32_t>(sum);
}
CUZK_FN uint64_t wide(uint32_t a) { return a; }

CUZK_FN uint32_t add_start(Carry &carry, uint32_t a, uint32_t b) { return take(carry, wide(a) + b); }
CUZK_FN uint32_t add_chain(Carry &carry, uint32_t a, uint32_t b) {
    return take(carry, wide(a) + b + carry.flag);
}
CUZK_FN uint32_t add_end(Carry &carry, uint32_t a, uint32_t b) { return a + b + carry.flag; }
CUZK_FN uint32_t sub_start(Carry &carry, uint32_t a, uint32_t b) { return take(carry, wide(a) - b); }
CUZK_FN uint32_t sub_chain(Carry &carry, uint32_t a, uint32_t b) {
    return take(carry, wide(a) - b - carry.flag);
}
CUZK_FN uint32_t sub_end(Carry &carry, uint32_t a, uint32_t b) { return a - b - carry.flag; }
CUZK_FN void mad_chain(Carry &carry, uint32_t &low, uint32_t &high, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint64_t product = wide(a) * b;
    const uint32_t first = take(carry, (product & 0xffffffffu) + c + carry.flag);
    high = take(carry, (product >> 32) + d + carry.flag);
    low = first;
}
CUZK_FN void mad_start(Carry &carry, uint32_t &low, uint32_t &high, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    carry.flag = 0;
    mad_chain(carry, low, high, a, b, c, d);
}
CUZK_FN void mad_end(Carry &carry, uint32_t &low, uint32_t &high, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    mad_chain(carry, low, high, a, b, c, d);
}
#endif

}  // namespace cuzk
