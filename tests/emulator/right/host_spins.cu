// The host waits in a loop without volatile, as programs do that nobody optimises: for a kernel's value, then for a
// member.
#include <cuda_runtime.h>

#include <cstdio>

struct Mail {
  int go;
  float value;
  int done;
};

__global__ void answer(volatile Mail* mail) {
  while (mail->go == 0) __nanosleep(100);
  for (int i = 0; i < 100; ++i) __nanosleep(10000);
  mail->value = 7;
  while (mail->go == 1) __nanosleep(100);
  mail->done = 1;
}

int main() {
  Mail* mail;
  cudaMallocManaged(&mail, sizeof(Mail));
  *mail = {};
  answer<<<1, 1>>>(mail);
  static_cast<volatile Mail*>(mail)->go = 1;
  while (mail->value == 0.0f);
  const float value = mail->value;
  static_cast<volatile Mail*>(mail)->go = 2;
  long turns = 0;
  while (!mail->done && turns < 1L << 60) ++turns;
  const int done = mail->done;
  cudaDeviceSynchronize();
  cudaFree(mail);
  std::printf("%g %d\n", value, done);
  return value == 7 && done == 1 ? 0 : 1;
}
