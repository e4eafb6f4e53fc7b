#include "kernels.hpp"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <optional>

namespace warpbook_ops {
namespace {

/// Sets a pointer to the library's function of that name.
template <class Function> void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  TORCH_CHECK(function != nullptr, "the kernels' library has no function ", name, ": build it anew (make chapter7)");
}

Kernels open(const std::string& path) {
  // Its own names first: PyTorch brings a CUDA of its own, whose functions are called what the emulator's are.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  TORCH_CHECK(library != nullptr, "the kernels' library cannot be loaded: ", dlerror());
  Kernels k{};
  find(library, "warpbook_add", k.add);
  find(library, "warpbook_multiply", k.multiply);
  find(library, "warpbook_multiply_add", k.multiply_add);
  find(library, "warpbook_scale", k.scale);
  find(library, "warpbook_make_contiguous", k.make_contiguous);
  find(library, "warpbook_write_into_view", k.write_into_view);
  find(library, "warpbook_permute", k.permute);
  find(library, "warpbook_scatter_add", k.scatter_add);
  find(library, "warpbook_inner_product", k.inner_product);
  find(library, "warpbook_index_add_strided", k.index_add);
  find(library, "warpbook_upsample_nearest", k.upsample_nearest);
  find(library, "warpbook_error_text", k.error_text);
  find(library, "warpbook_register_host", k.register_host);
  find(library, "warpbook_release_host", k.release_host);
  find(library, "warpbook_synchronize", k.synchronize);
  return k;
}

struct Libraries {
  std::optional<Kernels> cuda;
  std::optional<Kernels> cpu;
};

Libraries& libraries() {
  static Libraries all;
  return all;
}

}  // namespace

void load_kernels(const std::string& device, const std::string& path) {
  TORCH_CHECK(device == "cuda" || device == "cpu", "kernels are for cuda or cpu, not for '", device, "'");
  (device == "cuda" ? libraries().cuda : libraries().cpu) = open(path);
}

const Kernels& kernels_for(c10::DeviceType device) {
  const bool on_gpu = device == c10::DeviceType::CUDA;
  const std::optional<Kernels>& kernels = on_gpu ? libraries().cuda : libraries().cpu;
  TORCH_CHECK(kernels.has_value(), "the kernels for ", on_gpu ? "CUDA" : "CPU",
              " tensors are not built: make chapter7 ", on_gpu ? "DEVICE=gpu" : "DEVICE=emulator");
  return *kernels;
}

}  // namespace warpbook_ops
