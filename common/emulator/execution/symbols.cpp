#include "common/emulator/execution/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "common/emulator/base/shared_guard.hpp"
#include "common/emulator/execution/engine.hpp"

/// The C library's: where a module's thread-local storage lies for this thread, by the module's number and an offset.
extern "C" void* __tls_get_addr(std::size_t* index);  // NOLINT

namespace warpbook::emulator {
namespace {

/// A file mapped for reading; empty when it cannot be.
class MappedFile {
public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return;
    }
    struct stat status{};
    if (fstat(file, &status) == 0 && status.st_size > 0) {
      const auto bytes = static_cast<std::size_t>(status.st_size);
      if (void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0); data != MAP_FAILED) {
        contents_ = {static_cast<const char*>(data), bytes};
      }
    }
    close(file);
  }
  ~MappedFile() {
    if (!contents_.empty()) {
      munmap(const_cast<char*>(contents_.data()), contents_.size());
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// `count` objects at a file offset; nullptr when the file is shorter.
  template <class T> const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > contents_.size() || count > (contents_.size() - offset) / sizeof(T)) {
      return nullptr;
    }
    return reinterpret_cast<const T*>(contents_.data() + offset);
  }

private:
  std::string_view contents_;
};

/// The functions and variables of one program or shared library.
struct SymbolTable {
  struct Symbol {
    std::uintptr_t begin;  ///< relative to the load address
    std::size_t bytes;
    std::string symbol;
  };
  std::vector<Symbol> functions;  ///< by address
  std::vector<TlsVariable> tls;     ///< by offset
  std::vector<Symbol> variables;  ///< by address
};

SymbolTable read_symbols(const char* path) {
  SymbolTable table;
  const MappedFile file(path);
  const auto* header = file.at<Elf64_Ehdr>(0);
  const Elf64_Shdr* sections = header == nullptr ? nullptr : file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (sections == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return table;
  }
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) {
      continue;
    }
    const std::uint64_t count = sections[i].sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.at<Elf64_Sym>(sections[i].sh_offset, count);
    const Elf64_Shdr& names = sections[sections[i].sh_link];
    const char* text = file.at<char>(names.sh_offset, names.sh_size);
    if (symbols == nullptr || text == nullptr) {
      continue;
    }
    for (std::uint64_t s = 0; s < count; ++s) {
      const Elf64_Sym& symbol = symbols[s];
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size) {
        continue;
      }
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC) {
        table.functions.push_back({symbol.st_value, symbol.st_size, text + symbol.st_name});
      } else if (type == STT_OBJECT && symbol.st_size != 0) {
        table.variables.push_back({symbol.st_value, symbol.st_size, text + symbol.st_name});
      } else if (type == STT_TLS && symbol.st_size != 0) {  // arm64's linker has one for the beginning of them all
        const char* name = text + symbol.st_name;
        // The compiler pass put a guard behind the variables inside of functions, which `__shared__` arrays are.
        const bool guarded = std::strncmp(name, "_ZZ", 3) == 0 && symbol.st_size > kSharedGuardBytes;
        table.tls.push_back({name, symbol.st_value, symbol.st_size - (guarded ? kSharedGuardBytes : 0)});
      }
    }
  }
  for (auto* symbols : {&table.functions, &table.variables})
    std::sort(symbols->begin(), symbols->end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::sort(table.tls.begin(), table.tls.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return table;
}

/// The symbol table of a module, read at the first question.
const SymbolTable& symbols_of(const std::string& path) {
  static std::mutex mutex;
  static auto& tables = *new std::map<std::string, SymbolTable>;
  const std::lock_guard lock(mutex);
  const auto found = tables.find(path);
  return found != tables.end() ? found->second : tables.emplace(path, read_symbols(path.c_str())).first->second;
}

constexpr const char* kProgram = "/proc/self/exe";

/// The module that holds an address.
struct Module {
  std::uintptr_t address;
  std::string path;
  std::uintptr_t base = 0;
};

int find_module(dl_phdr_info* info, std::size_t, void* data) {
  auto* module = static_cast<Module*>(data);
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && module->address >= begin && module->address < begin + segment.p_memsz) {
      module->path = info->dlpi_name[0] == '\0' ? kProgram : info->dlpi_name;
      module->base = info->dlpi_addr;
      return 1;
    }
  }
  return 0;
}

/// The thread-local storage of the module with a load address.
struct ModuleTls {
  std::uintptr_t base;
  std::size_t id = 0;  ///< 0: it has none
  std::size_t bytes = 0;
};

int find_tls(dl_phdr_info* info, std::size_t, void* data) {
  auto* tls = static_cast<ModuleTls*>(data);
  if (info->dlpi_addr != tls->base) {
    return 0;
  }
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_TLS) {
      tls->id = info->dlpi_tls_modid;
      tls->bytes = info->dlpi_phdr[i].p_memsz;
    }
  }
  return 1;
}

/// What a module may write: the segment, without what is only written while it is loaded.
struct Writable {
  std::uintptr_t base;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

int find_writable(dl_phdr_info* info, std::size_t, void* data) {
  auto* writable = static_cast<Writable*>(data);
  if (info->dlpi_addr != writable->base) {
    return 0;
  }
  std::uintptr_t fixed = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
      writable->begin = writable->begin == 0 ? begin : std::min(writable->begin, begin);
      writable->end = std::max(writable->end, begin + segment.p_memsz);
    } else if (segment.p_type == PT_GNU_RELRO) {
      fixed = begin + segment.p_memsz;
    }
  }
  writable->begin = std::max(writable->begin, fixed);
  return 1;
}

/// Any code of the module that holds the kernels.
std::atomic<const void*> kernel_code{nullptr};

/// The module that holds the kernels; while none is known, the program.
Module kernel_module() {
  Module module{reinterpret_cast<std::uintptr_t>(kernel_code.load()), kProgram, 0};
  if (module.address == 0) {
    const auto program = [](dl_phdr_info* info, std::size_t, void* data) {
      static_cast<Module*>(data)->base = info->dlpi_addr;
      return 1;  // the first module is the program
    };
    dl_iterate_phdr(program, &module);
  } else {
    dl_iterate_phdr(find_module, &module);
  }
  return module;
}

AddressRange find_shared_range() {
  ModuleTls tls{kernel_module().base};
  dl_iterate_phdr(find_tls, &tls);
  if (tls.id == 0) {
    return {};
  }
  // A library's is made for a thread when the thread first asks for it.
  std::size_t index[2] = {tls.id, 0};
  const auto* begin = static_cast<const std::byte*>(__tls_get_addr(index));
  return {begin, begin + tls.bytes};
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : symbol;
}

}  // namespace

void note_kernel(const void* code) {
  const void* none = nullptr;
  kernel_code.compare_exchange_strong(none, code);
}

const std::vector<TlsVariable>& tls_variables() { return symbols_of(kernel_module().path).tls; }

namespace {

const Module& module_of_variables() {
  static const Module& module = *new Module(kernel_module());
  return module;
}

const Writable& writable_part() {
  static const Writable writable = [] {
    Writable found{module_of_variables().base};
    dl_iterate_phdr(find_writable, &found);
    return found;
  }();
  return writable;
}

}  // namespace

AddressRange variable_at(const void* address) {
  Module module{reinterpret_cast<std::uintptr_t>(address), {}, 0};
  if (dl_iterate_phdr(find_module, &module) == 0) return {};
  const auto& variables = symbols_of(module.path).variables;
  const std::uintptr_t offset = module.address - module.base;
  const auto after = std::upper_bound(variables.begin(), variables.end(), offset,
                                      [](auto value, const auto& variable) { return value < variable.begin; });
  if (after == variables.begin() || offset >= std::prev(after)->begin + std::prev(after)->bytes) return {};
  const auto* const begin = static_cast<const std::byte*>(address) - (offset - std::prev(after)->begin);
  return {begin, begin + std::prev(after)->bytes};
}

AddressRange variables_range() {
  const Writable& writable = writable_part();
  // NOLINTBEGIN(performance-no-int-to-ptr): the program's headers have integers.
  return {reinterpret_cast<const std::byte*>(writable.begin), reinterpret_cast<const std::byte*>(writable.end)};
  // NOLINTEND(performance-no-int-to-ptr)
}

Variable variable_near(const void* address) {
  constexpr std::uintptr_t kBehind = std::uintptr_t{16} << 20;
  const Module& module = module_of_variables();
  const Writable& writable = writable_part();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at < writable.begin || at >= writable.end + kBehind) {
    return {};
  }
  const auto& variables = symbols_of(module.path).variables;
  const std::uintptr_t offset = at - module.base;
  auto nearest = std::upper_bound(variables.begin(), variables.end(), offset,
                                  [](std::uintptr_t value, const auto& variable) { return value < variable.begin; });
  if (nearest != variables.begin()) {
    const auto before = std::prev(nearest);
    const std::uintptr_t end = before->begin + before->bytes;
    if (nearest == variables.end() || offset < end || offset - end <= nearest->begin - offset) {
      nearest = before;
    }
  }
  if (nearest == variables.end()) {
    return {};
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the symbol table has integers.
  const auto* begin = reinterpret_cast<const std::byte*>(module.base + nearest->begin);
  // What is not mangled could be taken for a type.
  return {nearest->symbol.starts_with("_Z") ? demangled(nearest->symbol) : nearest->symbol,
          {begin, begin + nearest->bytes}};
}

std::string function_symbol(const void* code) {
  Module module{reinterpret_cast<std::uintptr_t>(code), {}, 0};
  if (dl_iterate_phdr(find_module, &module) == 0) {
    return {};
  }
  const auto& functions = symbols_of(module.path).functions;
  const std::uintptr_t offset = module.address - module.base;
  auto after = std::upper_bound(functions.begin(), functions.end(), offset,
                                [](std::uintptr_t address, const auto& function) { return address < function.begin; });
  if (after == functions.begin()) {
    return {};
  }
  --after;
  return offset < after->begin + std::max<std::size_t>(after->bytes, 1) ? after->symbol : std::string{};
}

std::string short_function_name(const std::string& symbol) {
  std::string name = demangled(symbol);
  if (name == symbol) {
    return name;
  }
  // "void space::kernel<float>(float*)": the parameters are the last pair of parentheses, the name what is before them
  // up to a space that is outside of all brackets.
  if (const std::size_t close = name.rfind(')'); close != std::string::npos) {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
      if (depth == 0) {
        name.erase(i);
        break;
      }
    }
  }
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    const char c = name[i];
    depth += c == ')' || c == '>' ? 1 : c == '(' || c == '<' ? -1 : 0;
    if (c == ' ' && depth == 0) {
      return name.substr(i + 1);
    }
  }
  return name;
}

std::string static_variable_prefix(const std::string& function_symbol) {
  return function_symbol.starts_with("_Z") ? "_ZZ" + function_symbol.substr(2) + "E" : std::string{};
}

AddressRange shared_range() {
  if (kernel_code == nullptr) {
    return find_shared_range();
  }
  thread_local const AddressRange range = find_shared_range();
  return range;
}

std::string function_name(const void* code) {
  const std::string symbol = function_symbol(code);
  return symbol.empty() ? "?" : short_function_name(symbol);
}

const SharedArray* shared_arrays(std::size_t& count) {
  static const std::vector<SharedArray>& arrays = *new std::vector<SharedArray>([] {
    std::vector<SharedArray> found;
    for (const TlsVariable& variable : tls_variables()) {
      const std::string text = demangled(variable.symbol);
      // "void kernel<float>(float*)::tile": behind the parameters of the function that declares it
      const std::size_t split = text.rfind(")::");
      if (split == std::string::npos || !variable.symbol.starts_with("_ZZ")) {
        found.push_back({"", text, variable.offset, variable.bytes});
      } else {
        const std::string function = text.substr(0, split + 1);
        std::size_t open = split;
        for (int depth = 0; open > 0; --open) {
          depth += function[open] == ')' ? 1 : function[open] == '(' ? -1 : 0;
          if (depth == 0) {
            break;
          }
        }
        found.push_back({function.substr(0, open), text.substr(split + 3), variable.offset, variable.bytes});
      }
    }
    return found;
  }());
  count = arrays.size();
  return arrays.data();
}

}  // namespace warpbook::emulator
