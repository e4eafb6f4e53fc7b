// Addresses of a thread's own variables that are kept, handed on and used as long as these last; and a string that each
// lane prints of its own, which is empty. The host computes the same.
#include <cstdio>

#define BOTH __host__ __device__

struct Node {
  int value;
  const Node* next;
};

BOTH int sum_of_list(int n) {
  Node nodes[8];
  const Node* head = nullptr;
  for (int i = 0; i < n; ++i) {
    nodes[i] = {i, head};
    head = &nodes[i];
  }
  int sum = 0;
  for (const Node* node = head; node != nullptr; node = node->next) sum = sum * 3 + node->value;
  return sum;
}

class Stack {
public:
  BOTH Stack() : top_(values_) {}
  BOTH void push(int value) { *top_++ = value; }
  BOTH int pop() { return *--top_; }

private:
  int values_[8];
  int* top_;
};

BOTH int reversed(int n) {
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    Stack stack;
    for (int i = 0; i < n; ++i) stack.push(i + round);
    for (int i = 0; i < n; ++i) sum = sum * 5 + stack.pop();
  }
  return sum;
}

BOTH int two_buffers(int n) {
  int one[4] = {1, 2, 3, 4};
  int other[4] = {};
  int* from = one;
  int* to = other;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 4; ++k) to[k] = from[(k + 1) % 4] + i;
    int* const swapped = from;
    from = to;
    to = swapped;
  }
  return from[1];
}

BOTH const int& clamped(const int& value, const int& low, const int& high) {
  return value < low ? low : high < value ? high : value;
}
BOTH int* chosen(int* one, int* other, bool first) { return first ? one : other; }
template <class F> BOTH int twice(F function) { return function() + function(); }

// A pointer that outlives its variable, and is not used then.
BOTH int last_of(int lane, int n) {
  const int* last = nullptr;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    int value = i * lane;
    last = &value;
    sum += *last + twice([&] { return ++value; });
  }
  return sum + (last != nullptr);
}

BOTH int by_reference(int lane, int n) {
  int one = n;
  int other = lane;
  *chosen(&one, &other, lane % 2 == 0) += clamped(lane + n, 3, 20);
  return one * 100 + other + clamped(n * 2, 1, 5);
}

__host__ __device__ __noinline__ int frame_below(const int* values, int n) {
  int own[8];
  for (int i = 0; i < 8; ++i) own[i] = values[i & 1] + n;
  const int* volatile kept = own;
  return kept[n & 7];
}
BOTH int frames(int lane, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    const int values[2] = {i, lane};
    sum += frame_below(values, i);
  }
  return sum;
}

BOTH int all(int lane, int n) {
  return sum_of_list(n) + reversed(n) + two_buffers(n + lane) + last_of(lane, n) + by_reference(lane, n) +
         frames(lane, n);
}

__global__ void kernel(int* out, int n) {
  __shared__ int* places[64];
  int own = all(threadIdx.x, n);
  places[threadIdx.x] = &own;
  __syncthreads();
  *places[threadIdx.x] += 1;
  out[threadIdx.x] = own;
  const char text[4] = {static_cast<char>(own == -1 ? 'x' : '\0')};
  printf("%s%.*s", text, 0, "not printed");
}

int main() {
  constexpr int kCount = 6;
  int h[64];
  int* out;
  cudaMalloc(&out, sizeof h);
  kernel<<<1, 64>>>(out, kCount);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(out);
  int wrong = 0;
  for (int lane = 0; lane < 64; ++lane) wrong += h[lane] != all(lane, kCount) + 1;
  std::printf("%d wrong\n", wrong);
  return wrong;
}
