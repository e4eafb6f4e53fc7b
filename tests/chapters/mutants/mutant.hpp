/// \file
/// What scripts/mutants.py writes into a step's file: places at which the text means something else while their mutant
/// is chosen, so that one compilation serves for all mutants of a step.
///
/// A binary operator is marked by one more operand, `a + Mark<7, Minus>{} + b`: the same precedence, so that the
/// compiler finds the operands by itself. While mutant 7 is chosen, that is `a - b`.
#pragma once

#include <cuda_runtime.h>

#include <utility>

extern int warpbook_mutant;  // 0: none. Defined by the driver.

namespace warpbook::mutants {

__host__ __device__ inline bool on(int mutant) { return warpbook_mutant == mutant; }

/// `value`, or nothing of it.
template <class T> __host__ __device__ T unless(int mutant, T value) { return on(mutant) ? T{} : value; }

// What an operator becomes.
struct Plus {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a + b; }
  {
    return a + b;
  }
};
struct Minus {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a - b; }
  {
    return a - b;
  }
};
struct Times {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a* b; }
  {
    return a * b;
  }
};
struct Over {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a / b; }
  {
    return a / b;
  }
};
struct Less {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a < b; }
  {
    return a < b;
  }
};
struct LessEqual {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a <= b; }
  {
    return a <= b;
  }
};
struct Greater {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a > b; }
  {
    return a > b;
  }
};
struct GreaterEqual {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a >= b; }
  {
    return a >= b;
  }
};
struct Equal {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a == b; }
  {
    return a == b;
  }
};
struct Unequal {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a != b; }
  {
    return a != b;
  }
};
struct And {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a & b; }
  {
    return a & b;
  }
};
struct Or {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a | b; }
  {
    return a | b;
  }
};
struct Left {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a << b; }
  {
    return a << b;
  }
};
struct Right {
  __host__ __device__ static auto apply(auto a, auto b)
    requires requires { a >> b; }
  {
    return a >> b;
  }
};

/// Stands between two operators of one kind; the mutated one is `Other`.
template <int mutant, class Other> struct Mark {};
/// A left operand and its mark.
template <class A, int mutant, class Other> struct Marked {
  A value;
};

#define WARPBOOK_MARKED(op)                                                                                            \
  template <class A, int m, class Other>                                                                               \
  __host__ __device__ Marked<A, m, Other> operator op(A a, Mark<m, Other>) {                                           \
    return {a};                                                                                                        \
  }                                                                                                                    \
  template <class A, int m, class Other, class B>                                                                      \
  __host__ __device__ auto operator op(Marked<A, m, Other> a, B b)                                                     \
    requires requires { static_cast<decltype(a.value op b)>(Other::apply(a.value, b)); }                               \
  {                                                                                                                    \
    using Result = decltype(a.value op b);                                                                             \
    return on(m) ? static_cast<Result>(Other::apply(a.value, b)) : static_cast<Result>(a.value op b);                  \
  }
WARPBOOK_MARKED(+)
WARPBOOK_MARKED(-)
WARPBOOK_MARKED(*)
WARPBOOK_MARKED(/)
WARPBOOK_MARKED(%)
WARPBOOK_MARKED(<)
WARPBOOK_MARKED(<=)
WARPBOOK_MARKED(>)
WARPBOOK_MARKED(>=)
WARPBOOK_MARKED(==)
WARPBOOK_MARKED(!=)
WARPBOOK_MARKED(&)
WARPBOOK_MARKED(|)
WARPBOOK_MARKED(^)
WARPBOOK_MARKED(<<)
WARPBOOK_MARKED(>>)
#undef WARPBOOK_MARKED

}  // namespace warpbook::mutants
