// The driver's virtual memory: an array that grows where it lies, pieces that go and come back with what they hold.
// prints: 10000 right, 3 refused
// reports: on CUDA API call to cuMemMap
// reports: Memory is still mapped there: cuMemUnmap comes first.
// reports: This memory was mapped by cuMemMap; cuMemUnmap takes it away.
// reports: on CUDA API call to cuMemGetAllocationPropertiesFromHandle
// reports: virtual_memory.cu:72, index 524288 of 1572864 elements of 4 bytes
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

#define DONE(call)                                                                                                     \
  if (const CUresult error = (call); error != CUDA_SUCCESS) {                                                          \
    std::printf("%s: %d\n", #call, error);                                                                             \
    std::exit(1);                                                                                                      \
  }

__global__ void fill(int* x, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) x[i] = i;
}
__global__ void sample(const int* x, std::size_t n, int* right) {
  for (int i = threadIdx.x; i < 10000; i += blockDim.x)
    if (x[i * (n / 10000)] == i * (n / 10000)) atomicAdd(right, 1);
}
__global__ void look(const int* x, std::size_t at, int* out) { *out = x[at]; }

int main() {
  DONE(cuInit(0));
  CUdevice device;
  CUcontext context;
  int can = 0;
  DONE(cuDeviceGet(&device, 0));
  DONE(cuDevicePrimaryCtxRetain(&context, device));
  DONE(cuCtxSetCurrent(context));
  DONE(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  std::size_t piece = 0;
  DONE(cuMemGetAllocationGranularity(&piece, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::size_t n = piece / sizeof(int);
  CUdeviceptr array = 0, other = 0;
  DONE(cuMemAddressReserve(&array, 4 * piece, 0, 0, 0));
  DONE(cuMemAddressReserve(&other, piece, 0, 0, 0));
  int* const x = reinterpret_cast<int*>(array);
  int *right, refused = can != 1;
  cudaMallocManaged(&right, sizeof(int));
  *right = 0;

  CUmemGenericAllocationHandle handles[3];
  const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (int i = 0; i < 3; ++i) {
    DONE(cuMemCreate(&handles[i], piece, &properties, 0));
    DONE(cuMemMap(array + i * piece, piece, 0, handles[i], 0));
    DONE(cuMemSetAccess(array + i * piece, piece, &access, 1));
    fill<<<4, 256>>>(x, i * n, (i + 1) * n - (i == 2));
    cudaDeviceSynchronize();
  }
  // A copy across the pieces, and a kernel that goes through them.
  int* copy;
  cudaMalloc(&copy, 3 * piece);
  cudaMemcpy(copy, x, 3 * piece - 4, cudaMemcpyDeviceToDevice);
  sample<<<1, 256>>>(copy, 3 * n, right);
  cudaDeviceSynchronize();

  refused += cuMemMap(other, piece, 0, 99, 0) == CUDA_ERROR_INVALID_VALUE;
  refused += cuMemAddressFree(array, 4 * piece) == CUDA_ERROR_INVALID_VALUE;
  refused += cudaFree(x) == cudaErrorInvalidValue;

  // The middle piece moves, and the others stay.
  DONE(cuMemUnmap(array + piece, piece));
  DONE(cuMemMap(other, piece, 0, handles[1], 0));
  DONE(cuMemSetAccess(other, piece, &access, 1));
  int values[3];
  cudaMemcpy(&values[0], reinterpret_cast<int*>(other) + 5, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&values[1], x + n - 1, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&values[2], x + 2 * n, 4, cudaMemcpyDeviceToHost);
  if (values[0] != int(n) + 5 || values[1] != int(n) - 1 || values[2] != int(2 * n)) *right = -1;
  std::printf("%d right, %d refused\n", *right, refused);

  CUmemGenericAllocationHandle fresh;
  DONE(cuMemCreate(&fresh, piece, &properties, 0));
  DONE(cuMemMap(array + 3 * piece, piece, 0, fresh, 0));
  DONE(cuMemSetAccess(array + 3 * piece, piece, &access, 1));
  DONE(cuMemUnmap(other, piece));
  DONE(cuMemAddressFree(other, piece));
  for (const auto handle : handles) DONE(cuMemRelease(handle));
  DONE(cuMemRelease(fresh));
  CUmemAllocationProp found;
  if (cuMemGetAllocationPropertiesFromHandle(&found, fresh) != CUDA_ERROR_INVALID_VALUE)
    std::printf("a handle that was released\n");
  cudaFree(copy);
  cudaDeviceSynchronize();
  look<<<1, 1>>>(x, n, right);  // Nothing is mapped there any more.
  cudaDeviceSynchronize();
}
