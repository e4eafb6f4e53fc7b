// Cubes' faces by the guide's table of directions, layers, textures in several sizes.
// prints: faces 0 1 2 3 4 5
// prints: corners 0 10 100 110
// prints: layers 6 9 11
// prints: sizes 4 2 1 1
// prints: between 3 1.5 2 4
// prints: surface 7
// prints: refused 1 1
// reports: A cube has six faces, as wide as they are high.
// reports: A place in several sizes is told by normalised coordinates.
// reports: Its array was made without cudaArrayCubemap.
#include <cstdio>
__global__ void along(float* out, cudaTextureObject_t cube, float x, float y, float z, int layer) {
  *out = layer < 0 ? texCubemap<float>(cube, x, y, z) : texCubemapLayered<float>(cube, x, y, z, layer);
}
__global__ void at_level(float* out, cudaTextureObject_t sizes, float level) { *out = tex2DLod<float>(sizes, 0.5f, 0.5f, level); }
__global__ void plain(float* out, cudaTextureObject_t sizes) { *out = tex2D<float>(sizes, 0.5f, 0.5f); }
__global__ void write(cudaSurfaceObject_t cube, float value) { surfCubemapwrite(value, cube, 0, 0, 5); }

float* out;
float got() {
  float value = -1;
  cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost);
  return value;
}
float look(cudaTextureObject_t cube, float x, float y, float z, int layer = -1) {
  along<<<1, 1>>>(out, cube, x, y, z, layer);
  return got();
}
float level(cudaTextureObject_t sizes, float which) {
  at_level<<<1, 1>>>(out, sizes, which);
  return got();
}
void fill(cudaArray_t array, float* from, size_t width, size_t depth) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(from, width * 4, width, width);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, width, depth);
  copy.kind = cudaMemcpyHostToDevice;
  cudaMemcpy3D(&copy);
}

int main() {
  cudaMalloc(&out, 4);
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = cudaAddressModeClamp;
  texture.normalizedCoords = 1;
  cudaTextureObject_t object;

  // Texels are of face + 10 * row + 100 * column, and 6 more per cube.
  float faces[12][2][2];
  for (int face = 0; face < 12; ++face)
    for (int i = 0; i < 4; ++i) faces[face][i / 2][i % 2] = face + 10 * (i / 2) + 100 * (i % 2);
  cudaArray_t cube, cubes;
  cudaMalloc3DArray(&cube, &floats, make_cudaExtent(2, 2, 6), cudaArrayCubemap | cudaArraySurfaceLoadStore);
  fill(cube, &faces[0][0][0], 2, 6);
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = cube;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  // The upper left texel of each face, by the directions that have s < 0 and t < 0.
  std::printf("faces %g %g %g %g %g %g\n", look(object, 1, .5f, .5f), look(object, -1, .5f, -.5f), look(object, -.5f, 1, -.5f),
              look(object, -.5f, -1, .5f), look(object, -.5f, .5f, 1), look(object, .5f, .5f, -1));
  std::printf("corners %g %g %g %g\n", look(object, 4, 2, 2), look(object, 4, -2, 2), look(object, 4, 2, -2), look(object, 4, -2, -2));
  cudaDestroyTextureObject(object);
  cudaMalloc3DArray(&cubes, &floats, make_cudaExtent(2, 2, 12), cudaArrayCubemap | cudaArrayLayered);
  fill(cubes, &faces[0][0][0], 2, 12);
  resource.res.array.array = cubes;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  std::printf("layers %g %g %g\n", look(object, 1, .5f, .5f, 1), look(object, -.5f, -1, .5f, 1), look(object, .5f, .5f, -1, 7));
  cudaDestroyTextureObject(object);
  cudaFreeArray(cubes);

  // 4x4 texels of 4, 2x2 of 2, one of 1.
  cudaMipmappedArray_t sizes;
  cudaMallocMipmappedArray(&sizes, &floats, make_cudaExtent(4, 4, 0), 5);
  for (unsigned i = 0; i < 3; ++i) {
    cudaArray_t part;
    float values[16];
    for (float& value : values) value = 4 >> i;
    cudaGetMipmappedArrayLevel(&part, sizes, i);
    cudaMemcpy2DToArray(part, 0, 0, values, 16 >> i, 16 >> i, 4 >> i, cudaMemcpyHostToDevice);
  }
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = sizes;
  texture.maxMipmapLevelClamp = 9;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  std::printf("sizes %g %g %g %g\n", level(object, 0.4f), level(object, 0.6f), level(object, 2), level(object, 9));
  cudaDestroyTextureObject(object);
  texture.mipmapFilterMode = texture.filterMode = cudaFilterModeLinear;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  std::printf("between %g %g ", level(object, 0.5f), level(object, 1.5f));
  cudaDestroyTextureObject(object);
  texture.maxMipmapLevelClamp = 1;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  std::printf("%g ", level(object, 2));
  plain<<<1, 1>>>(out, object);
  std::printf("%g\n", got());
  cudaDestroyTextureObject(object);

  cudaSurfaceObject_t surface;
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = cube;
  cudaCreateSurfaceObject(&surface, &resource);
  write<<<1, 1>>>(surface, 7);
  texture = {};
  texture.normalizedCoords = 1;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  std::printf("surface %g\n", look(object, .5f, .5f, -1));
  cudaDestroyTextureObject(object);
  cudaDestroySurfaceObject(surface);
  cudaFreeArray(cube);

  cudaArray_t none;
  const cudaError_t no_cube = cudaMalloc3DArray(&none, &floats, make_cudaExtent(2, 2, 5), cudaArrayCubemap);
  texture.normalizedCoords = 0;
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = sizes;
  std::printf("refused %d %d\n", no_cube, cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  cudaFreeMipmappedArray(sizes);
  cudaFree(out);
  cudaMallocArray(&none, &floats, 2, 2);
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = none;
  cudaCreateTextureObject(&object, &resource, &texture, nullptr);
  along<<<1, 1>>>(nullptr, object, 1, 0, 0, -1);
  cudaDeviceSynchronize();
}
