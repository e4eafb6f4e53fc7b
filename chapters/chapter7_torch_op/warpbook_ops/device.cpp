#include "device.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace warpbook_ops {
namespace {

std::mutex& emulator_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Launch::Launch(const char* op, std::initializer_list<std::reference_wrapper<const at::Tensor>> tensors)
    : op_(op), like_(*tensors.begin()), kernels_(kernels_for(like_.device().type())) {
  const c10::Device device = like_.device();
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.device() == device, op, ": all tensors must be on one device, and these are on ", device,
                " and on ", tensor.device());
  }
  if (device.is_cuda()) {
    guard_.reset_device(device);
    stream_ = c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
    return;
  }
  emulator_ = std::unique_lock(emulator_mutex());
  for (const at::Tensor& tensor : tensors) lend(tensor);
}

Launch::~Launch() {
  for (void* const memory : lent_) kernels_.release_host(memory);
}

void Launch::lend(const at::Tensor& tensor) {
  const at::Storage& storage = tensor.storage();
  void* const memory = const_cast<void*>(storage.data());
  if (storage.nbytes() == 0 || std::find(lent_.begin(), lent_.end(), memory) != lent_.end()) return;
  const int error = kernels_.register_host(memory, storage.nbytes());
  TORCH_CHECK(error == 0, op_, ": the emulator did not take the tensor's memory: ", kernels_.error_text(error));
  lent_.push_back(memory);
}

void* Launch::workspace(std::size_t bytes) {
  workspace_ = at::empty({static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)) + 255},
                         like_.options().dtype(at::kByte).memory_format(std::nullopt));
  if (!like_.is_cuda()) lend(workspace_);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace_.mutable_data_ptr());
  return reinterpret_cast<void*>((address + 255) / 256 * 256);  // PyTorch aligns to 512 on CUDA, to 64 on the CPU.
}

void Launch::finish(int error) {
  if (error == 0 && !like_.is_cuda()) error = kernels_.synchronize();
  TORCH_CHECK(error == 0, op_, ": ", kernels_.error_text(error));
}

}  // namespace warpbook_ops
