// Textures and surfaces: the values are those of the formulas in the CUDA C++ Programming Guide, "Texture Fetching".
// prints: point 10 10 13 0
// prints: linear 10 10.5 12 12.4961 13
// prints: modes 13 10 12 13 0
// prints: normalised float 0.2 -1
// prints: rows 12 3 22
// prints: plane 11.5 21.75
// prints: bytes 3 200
// prints: volume 105 5
// prints: surface 1 30 0
// prints: trap 719
// reports: Invalid surface write of size 4 bytes
#include <cuda_runtime.h>

#include <cstdio>
__global__ void read_1d(float* out, cudaTextureObject_t texture, const float* at, int n) {
  for (int i = 0; i < n; ++i) out[i] = tex1D<float>(texture, at[i]);
}
__global__ void read_2d(float* out, cudaTextureObject_t texture, float x, float y) {
  *out = tex2D<float>(texture, x, y);
}
__global__ void read_linear(int* out, cudaTextureObject_t texture, int at) { *out = tex1Dfetch<int>(texture, at); }
__global__ void read_bytes(int* out, cudaTextureObject_t texture) {
  const uchar4 texel = tex2D<uchar4>(texture, 0, 1);
  out[0] = texel.x;
  out[1] = texel.w;
}
__global__ void read_3d(float* out, cudaTextureObject_t texture, float x, float y, float z) {
  tex3D(out, texture, x, y, z);
}
__global__ void transpose(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int n) {
  const int x = threadIdx.x, y = threadIdx.y;
  int value;
  surf2Dread(&value, from, x * 4, y);
  surf2Dwrite(value, to, y * 4, x);
  if (x == 0 && y == 0) surf2Dwrite(99, to, n * 4, 0, cudaBoundaryModeZero);
  if (x == 1 && y == 0) surf2Dwrite(surf2Dread<int>(from, n * 4, 0, cudaBoundaryModeZero), to, (n - 1) * 4, n - 1);
}
__global__ void forgets_the_size(cudaSurfaceObject_t to) { surf2Dwrite(1, to, 16, 0); }

cudaTextureDesc description(cudaTextureFilterMode filter, cudaTextureAddressMode mode, bool normalised) {
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = mode;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = normalised;
  return texture;
}
cudaTextureObject_t of_array(cudaArray_t array, const cudaTextureDesc& texture) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureObject_t object = 0;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  return object;
}
float* out;
int* numbers;
float first() {
  float value;
  cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);
  return value;
}
void show_1d(const char* name, cudaTextureObject_t texture, const float (&at)[5], int n) {
  float* places;
  float values[5];
  cudaMalloc(&places, sizeof at);
  cudaMemcpy(places, at, sizeof at, cudaMemcpyHostToDevice);
  read_1d<<<1, 1>>>(out, texture, places, n);
  cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost);
  std::printf("%s", name);
  for (int i = 0; i < n; ++i) std::printf(" %g", values[i]);
  std::printf("\n");
  cudaFree(places);
  cudaDestroyTextureObject(texture);
}

int main() {
  cudaMalloc(&out, 64);
  cudaMemset(out, 0, 64);
  cudaMalloc(&numbers, 64);
  cudaMemset(numbers, 0, 64);
  const float line[] = {10, 11, 12, 13};
  cudaArray_t array;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaMallocArray(&array, &floats, 4);
  cudaMemcpy2DToArray(array, 0, 0, line, sizeof line, sizeof line, 1, cudaMemcpyHostToDevice);
  show_1d("point", of_array(array, description(cudaFilterModePoint, cudaAddressModeBorder, false)), {0, 0.9f, 3.5f, 4},
          4);
  // At 2.998 the weight is 0.498, which 8 bits hold as 127/256.
  show_1d("linear", of_array(array, description(cudaFilterModeLinear, cudaAddressModeClamp, false)),
          {-3, 1, 2.5f, 2.998f, 4}, 5);
  const auto at = [&](cudaTextureAddressMode mode, bool normalised, float x) {
    const cudaTextureObject_t texture = of_array(array, description(cudaFilterModePoint, mode, normalised));
    read_2d<<<1, 1>>>(out, texture, x, 0.5f);
    cudaDeviceSynchronize();
    cudaDestroyTextureObject(texture);
    return first();
  };
  const float clamped = at(cudaAddressModeClamp, true, 1.3f), wrapped = at(cudaAddressModeWrap, true, 1.1f),
              below = at(cudaAddressModeWrap, true, -0.4f), mirrored = at(cudaAddressModeMirror, true, 1.1f),
              border = at(cudaAddressModeBorder, true, 1.1f);
  std::printf("modes %g %g %g %g %g\n", clamped, wrapped, below, mirrored, border);
  cudaFreeArray(array);

  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  const cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
  const unsigned char byte = 51;
  const short lowest = -32768;
  cudaTextureDesc texture = description(cudaFilterModePoint, cudaAddressModeClamp, false);
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaMallocArray(&array, &bytes, 1, 1);
  cudaMemcpyToArray(array, 0, 0, &byte, 1, cudaMemcpyHostToDevice);
  cudaTextureObject_t object = of_array(array, texture);
  read_2d<<<1, 1>>>(out, object, 0, 0);
  const float fifth = first();
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);
  cudaMallocArray(&array, &shorts, 1, 1);
  cudaMemcpyToArray(array, 0, 0, &lowest, 2, cudaMemcpyHostToDevice);
  object = of_array(array, texture);
  read_2d<<<1, 1>>>(out, object, 0, 0);
  std::printf("normalised float %g %g\n", fifth, first());
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);

  // Linear memory, and rows with a pitch.
  int host[4] = {1, 2, 3, 4};
  cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {numbers, cudaCreateChannelDesc<int>(), 16};
  texture.readMode = cudaReadModeElementType;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  read_linear<<<1, 1>>>(numbers + 4, object, 2);
  read_linear<<<1, 1>>>(numbers + 5, object, 4);  // Outside of it are zeros.
  int found[2];
  cudaMemcpy(found, numbers + 4, 8, cudaMemcpyDeviceToHost);
  cudaDestroyTextureObject(object);
  const float plane[2][3] = {{10, 11, 12}, {20, 21, 22}};
  float* rows;
  std::size_t pitch;
  cudaMallocPitch(&rows, &pitch, 12, 2);
  cudaMemcpy2D(rows, pitch, plane, 12, 12, 2, cudaMemcpyHostToDevice);
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {rows, floats, 3, 2, pitch};
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  read_2d<<<1, 1>>>(out, object, 2, 0);
  const float corner = first();
  read_2d<<<1, 1>>>(out, object, 7, 1);
  std::printf("rows %g %d %g\n", corner, found[0] + found[1], first());
  cudaDestroyTextureObject(object);
  texture.filterMode = cudaFilterModeLinear;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  read_2d<<<1, 1>>>(out, object, 2, 0.5f);
  const float between = first();
  read_2d<<<1, 1>>>(out, object, 2.25f, 1.5f);
  std::printf("plane %g %g\n", between, first());
  cudaDestroyTextureObject(object);
  cudaFree(rows);

  const cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
  const unsigned char texels[] = {1, 1, 1, 1, 3, 0, 0, 200};
  cudaMallocArray(&array, &four, 1, 2);
  cudaMemcpyToArray(array, 0, 0, texels, 8, cudaMemcpyHostToDevice);
  object = of_array(array, description(cudaFilterModePoint, cudaAddressModeClamp, false));
  read_bytes<<<1, 1>>>(numbers, object);
  cudaMemcpy(found, numbers, 8, cudaMemcpyDeviceToHost);
  std::printf("bytes %d %d\n", found[0], found[1]);
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);

  float volume[2][2][2] = {{{0, 10}, {0, 10}}, {{200, 210}, {200, 210}}};
  cudaMalloc3DArray(&array, &floats, make_cudaExtent(2, 2, 2));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(volume, 8, 2, 2);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(2, 2, 2);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
  object = of_array(array, description(cudaFilterModeLinear, cudaAddressModeClamp, false));
  read_3d<<<1, 1>>>(out, object, 1, 1, 1);
  const float middle = first();
  read_3d<<<1, 1>>>(out, object, 1, 1, 0);
  std::printf("volume %g %g\n", middle, first());
  cudaDestroyTextureObject(object);
  cudaFreeArray(array);

  int square[4][4], turned[4][4];
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) square[y][x] = 10 * y + x;
  cudaArray_t other;
  const cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
  cudaMallocArray(&array, &ints, 4, 4, cudaArraySurfaceLoadStore);
  cudaMallocArray(&other, &ints, 4, 4, cudaArraySurfaceLoadStore);
  cudaMemcpy2DToArray(array, 0, 0, square, 16, 16, 4, cudaMemcpyHostToDevice);
  cudaSurfaceObject_t from, to;
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaCreateSurfaceObject(&from, &resource);
  resource.res.array.array = other;
  cudaCreateSurfaceObject(&to, &resource);
  transpose<<<1, dim3(4, 3)>>>(to, from, 4);
  cudaMemcpy2DFromArray(turned, 16, other, 0, 0, 16, 4, cudaMemcpyDeviceToHost);
  std::printf("surface %d %d %d\n", turned[1][0], turned[0][2] + square[1][0], turned[3][3]);
  forgets_the_size<<<1, 1>>>(to);
  std::printf("trap %d\n", cudaDeviceSynchronize());
}
