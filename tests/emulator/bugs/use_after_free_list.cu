// A list is deleted node by node, and each node is asked for the next one when it is gone.
// expect: use_after_free

#include <cuda_runtime.h>

struct Node {
  int value;
  Node* next;
};

template <bool kFixed> __global__ void sum(int* out) {
  Node* head = nullptr;
  for (int i = 0; i < 4; ++i) head = new Node{i, head};
  int total = 0;
  for (Node* node = head; node != nullptr;) {
    total += node->value;
    Node* const next = kFixed ? node->next : nullptr;
    delete node;
    node = kFixed ? next : node->next;  // <- bug
  }
  *out = total;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaMalloc(&out, sizeof(int));
  if (fixed)
    sum<true><<<1, 1>>>(out);
  else
    sum<false><<<1, 1>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
