/// \file
/// cuRAND's generators for the host: XORWOW, Philox4_32_10 and MRG32k3a, into device memory or the host's. Integers and
/// uniform numbers are cuRAND's own, bit for bit and in its order; so are normal and log-normal ones up to the last
/// digits of the logarithm and the sine. Not so: Poisson numbers, of which only the distribution is right, and Philox's
/// doubles and normal numbers where the numbers before them were no multiple of four. What is not here does not
/// compile: Mersenne twisters, Sobol, discrete distributions.
#pragma once

#include <stddef.h>

#include "cuda_runtime_api.h"
#include "library_types.h"
#include "warpbook_export.h"

#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 4
#define CURAND_VER_PATCH 0
#define CURAND_VERSION 10400
#define CURANDAPI

typedef enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999,
} curandStatus;
typedef curandStatus curandStatus_t;

typedef enum curandRngType {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
} curandRngType;
typedef curandRngType curandRngType_t;

/// The legacy order is another one for MRG32k3a alone.
typedef enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
} curandOrdering;
typedef curandOrdering curandOrdering_t;

typedef struct curandGenerator_st* curandGenerator_t;

#ifdef __cplusplus
extern "C" {
#endif

WARPBOOK_EXPORT curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type);
/// Its functions write to the host's memory.
WARPBOOK_EXPORT curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type);
WARPBOOK_EXPORT curandStatus_t curandDestroyGenerator(curandGenerator_t generator);
WARPBOOK_EXPORT curandStatus_t curandGetVersion(int* version);
WARPBOOK_EXPORT curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream);
WARPBOOK_EXPORT curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed);
WARPBOOK_EXPORT curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset);
WARPBOOK_EXPORT curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order);
WARPBOOK_EXPORT curandStatus_t curandGenerateSeeds(curandGenerator_t generator);
WARPBOOK_EXPORT curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* out, size_t n);
WARPBOOK_EXPORT curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t n);
WARPBOOK_EXPORT curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t n);
/// Normal numbers come in pairs: `n` has to be even.
WARPBOOK_EXPORT curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t n, float mean,
                                                    float stddev);
WARPBOOK_EXPORT curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t n,
                                                          double mean, double stddev);
WARPBOOK_EXPORT curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t n, float mean,
                                                       float stddev);
WARPBOOK_EXPORT curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, size_t n,
                                                             double mean, double stddev);
WARPBOOK_EXPORT curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* out, size_t n,
                                                     double mean);

#ifdef __cplusplus
}  // extern "C"
#endif
