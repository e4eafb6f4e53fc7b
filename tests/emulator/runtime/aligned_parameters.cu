// Parameters of more alignment than their elements', behind others of less.
// prints: 23
// prints: 1 2 12
// prints: 1 3 4 6 7
// prints: 5 9
#include <cstdio>
struct Camera {
  float4 eye, at;
};
struct alignas(64) Line {
  int first, last;
};
__global__ void look(float* out, Camera c) { printf("%g\n", c.eye.x + c.at.w + c.eye.y * c.at.z); }
__global__ void many(int*, int*, int*, int*, int one, int two, const int4 sum, int more) {
  printf("%d %d %d\n", one, two, sum.x + sum.w + more);
}
__global__ void one(int k, ulonglong2 g, int h, ulonglong2 i, ulonglong2 j) {
  printf("%d %llu %d %llu %llu\n", k, g.y, h, i.y, j.x);
}
__global__ void line(char before, Line l) { printf("%d %d\n", l.first, l.last); }
int main() {
  look<<<1, 1>>>(nullptr, {{1, 2, 3, 4}, {5, 6, 7, 8}});
  many<<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 1, 2, make_int4(3, 0, 0, 4), 5);
  one<<<1, 1>>>(1, {2, 3}, 4, {5, 6}, {7, 8});
  line<<<1, 1>>>(0, {5, 9});
  return cudaDeviceSynchronize();
}
