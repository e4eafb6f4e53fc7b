/// \file
/// Narrow elements of several rows regrouped into words of columns: a transpose within registers.
#pragma once

#include <cuda_runtime.h>

namespace warpbook {

/// The bytes of four words, transposed: the first word gets each one's first byte, and so on.
__device__ __forceinline__ uint4 transpose_4x4(unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned ab01 = __byte_perm(a, b, 0x5140);  // a0 b0 a1 b1
  const unsigned ab23 = __byte_perm(a, b, 0x7362);
  const unsigned cd01 = __byte_perm(c, d, 0x5140);
  const unsigned cd23 = __byte_perm(c, d, 0x7362);
  return make_uint4(__byte_perm(ab01, cd01, 0x5410), __byte_perm(ab01, cd01, 0x7632), __byte_perm(ab23, cd23, 0x5410),
                    __byte_perm(ab23, cd23, 0x7632));
}

/// The halves of two words, transposed: the first word gets both low halves, the second both high ones.
__device__ __forceinline__ uint2 transpose_2x2(unsigned a, unsigned b) {
  return make_uint2(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
}

/// Regroups the same 16 bytes of `kRows` rows into 4-byte words of columns: four rows of bytes, two rows of halves, or
/// one row of anything wider, which stays as it is. Column c's word is word c % 4 of `columns[c / 4]`.
template <int kRows> __device__ __forceinline__ void pack_columns(const uint4 (&rows)[kRows], uint4 (&columns)[kRows]) {
  static_assert(kRows == 1 || kRows == 2 || kRows == 4);
  if constexpr (kRows == 1) {
    columns[0] = rows[0];
  } else if constexpr (kRows == 2) {
    const uint2 x = transpose_2x2(rows[0].x, rows[1].x);
    const uint2 y = transpose_2x2(rows[0].y, rows[1].y);
    const uint2 z = transpose_2x2(rows[0].z, rows[1].z);
    const uint2 w = transpose_2x2(rows[0].w, rows[1].w);
    columns[0] = make_uint4(x.x, x.y, y.x, y.y);
    columns[1] = make_uint4(z.x, z.y, w.x, w.y);
  } else {
    columns[0] = transpose_4x4(rows[0].x, rows[1].x, rows[2].x, rows[3].x);
    columns[1] = transpose_4x4(rows[0].y, rows[1].y, rows[2].y, rows[3].y);
    columns[2] = transpose_4x4(rows[0].z, rows[1].z, rows[2].z, rows[3].z);
    columns[3] = transpose_4x4(rows[0].w, rows[1].w, rows[2].w, rows[3].w);
  }
}

}  // namespace warpbook
