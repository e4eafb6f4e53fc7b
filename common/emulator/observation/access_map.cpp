#include "common/emulator/observation/access_map.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "common/emulator/base/text.hpp"

namespace warpbook::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kSectorBytes = 32;

// Pixels.
constexpr int kWidth = 860;
constexpr int kMargin = 20;
constexpr int kCell = 25;  // a lane's box, a bank's column
constexpr int kCellHeight = 17;
constexpr int kSector = 32;
constexpr int kLineGap = 8;
constexpr int kLineWidth = 4 * kSector + kLineGap;
constexpr int kLinesInRow = (kWidth - 2 * kMargin + kLineGap) / kLineWidth;
constexpr int kTitleHeight = 76;
constexpr int kKernelHeight = 34;
constexpr int kHeadHeight = 46;  // above a request's picture
constexpr int kConnectors = 40;  // between the lanes and the sectors
constexpr int kLineRowHeight = 36;
constexpr int kGap = 22;

constexpr auto kStyle = R"(<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .kernel { font-weight: 600; }
  .muted { fill: #59636e; }
  .small { font-size: 10px; text-anchor: middle; }
  .in { fill: #1f2328; }
  .box { stroke: #afb8c1; stroke-width: 1; fill: none; }
  .off { fill: #eff2f5; }
  .link { stroke-width: 1; fill: none; opacity: 0.7; }
  .background { fill: #ffffff; }
  .g0 { fill: #a5d6ff; } .g1 { fill: #7ee2b8; } .g2 { fill: #ffe08a; } .g3 { fill: #ffb3a7; }
  .g4 { fill: #d8b9ff; } .g5 { fill: #9be8f0; } .g6 { fill: #d3e586; } .g7 { fill: #ffb8dc; }
  .k0 { stroke: #0969da; } .k1 { stroke: #1a7f53; } .k2 { stroke: #9a6700; } .k3 { stroke: #cf222e; }
  .k4 { stroke: #8250df; } .k5 { stroke: #0e7490; } .k6 { stroke: #5c7a00; } .k7 { stroke: #bf3989; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .muted { fill: #9198a1; }
    .in { fill: #10151c; }
    .box { stroke: #59636e; }
    .off { fill: #21262d; }
    .background { fill: #0d1117; }
    .k0 { stroke: #4493f8; } .k1 { stroke: #3fb27f; } .k2 { stroke: #d4a72c; } .k3 { stroke: #f85149; }
    .k4 { stroke: #ab7df8; } .k5 { stroke: #39c5cf; } .k6 { stroke: #a3c23a; } .k7 { stroke: #e275ad; }
  }
</style>
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20U)
      result += c;
  }
  return result;
}

const char* verb(Operation operation) {
  switch (operation) {
  case Operation::load:
    return "load";
  case Operation::store:
    return "store";
  case Operation::reduction:
    return "atomic without result";
  case Operation::atomic:
    return "atomic";
  }
  return "?";
}

std::string count(std::size_t n, const char* thing) { return formatted("{} {}{}", n, thing, n == 1 ? "" : "s"); }

/// Lanes as "0-7", "0,8" or, where that is too long, "0,..".
std::string lanes_text(std::uint32_t mask, std::size_t most) {
  std::string text;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kLanes && (mask >> (last + 1) & 1U) != 0) ++last;
    const std::string part = last == lane ? std::to_string(lane) : formatted("{}-{}", lane, last);
    if (!text.empty() && text.size() + 1 + part.size() > most) return text.substr(0, text.find(',')) + ",..";
    text += (text.empty() ? "" : ",") + part;
    lane = last;
  }
  return text;
}

/// Colours come by groups of four lanes.
unsigned group_of(std::uint32_t lanes) { return lanes == 0 ? 0 : static_cast<unsigned>(std::countr_zero(lanes)) / 4; }

/// A line of memory with the lanes that touch each of its sectors.
struct MappedLine {
  std::uint64_t line;
  std::array<std::uint32_t, 4> lanes{};
};

std::vector<MappedLine> lines_of(const MappedRequest& mapped) {
  std::vector<MappedLine> lines;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mapped.request.mask >> lane & 1U) == 0) continue;
    const std::uint64_t first = mapped.request.address[lane] / kSectorBytes;
    const std::uint64_t last = (mapped.request.address[lane] + mapped.bytes - 1) / kSectorBytes;
    for (std::uint64_t sector = first; sector <= last; ++sector) {
      auto found = std::find_if(lines.begin(), lines.end(), [&](const MappedLine& l) { return l.line == sector / 4; });
      if (found == lines.end()) found = lines.insert(lines.end(), {sector / 4, {}});
      found->lanes[sector % 4] |= 1U << lane;
    }
  }
  std::sort(lines.begin(), lines.end(), [](const MappedLine& a, const MappedLine& b) { return a.line < b.line; });
  return lines;
}

/// Different bytes that the lanes touch.
std::size_t bytes_used(const MappedRequest& mapped) {
  std::vector<std::uint64_t> addresses;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if ((mapped.request.mask >> lane & 1U) != 0) addresses.push_back(mapped.request.address[lane]);
  std::sort(addresses.begin(), addresses.end());
  std::size_t used = 0;
  std::uint64_t end = 0;
  for (const std::uint64_t begin : addresses) {
    used += begin + mapped.bytes - std::clamp(end, begin, begin + mapped.bytes);
    end = begin + mapped.bytes;
  }
  return used;
}

/// Collects the picture, top to bottom.
class Drawing {
public:
  explicit Drawing(const std::string& title) {
    text("title", kMargin, 28, title);
    text("muted", kMargin, 48,
         "Global memory: the warp's lanes, and below them the lines that they touch, sector by sector, with their "
         "distance from the");
    text("muted", kMargin, 65,
         "array's begin in bytes. Shared memory: the banks are columns, from the array's begin on, the passes rows. In "
         "a box: the lanes.");
    y_ = kTitleHeight;
  }

  void kernel(const MappedKernel& kernel) {
    text("kernel", kMargin, y_ + 20, kernel.name + ", " + kernel.shape);
    y_ += kKernelHeight;
    if (kernel.requests.empty()) {
      text("muted", kMargin, y_ + 10, "Its first warp touches neither global nor shared memory.");
      y_ += kGap + 10;
    }
    for (const MappedRequest& request : kernel.requests) {
      head(request);
      if (request.shared)
        banks(request);
      else
        sectors(request);
      y_ += kGap;
    }
  }

  std::string finish(const std::string& title, const std::string& description) const {
    return formatted("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title description\" "
                     "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n<title id=\"title\">{2}</title>\n"
                     "<desc id=\"description\">{3}</desc>\n{4}<rect class=\"background\" width=\"{0}\" "
                     "height=\"{1}\"/>\n{5}</svg>\n",
                     kWidth, y_, escaped(title), escaped(description), kStyle, body_);
  }

private:
  void text(const char* style, int x, int y, std::string_view what) {
    body_ += formatted("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", style, x, y, escaped(what));
  }

  void box(const std::string& style, int x, int y, int width, std::string_view inside) {
    body_ += formatted("<rect class=\"box {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", style, x, y, width,
                       kCellHeight);
    if (!inside.empty()) text("small in", x + width / 2, y + 12, inside);
  }

  void head(const MappedRequest& request) {
    std::string line = formatted("{} of {} a lane, {} memory", verb(request.operation), count(request.bytes, "byte"),
                                 request.shared ? "shared" : "global");
    if (!request.where.empty()) line += " · " + request.where;
    if (request.times > 1) line += formatted(" · and {} more like it", request.times - 1);
    text("", kMargin, y_ + 14, line);
    text("muted", kMargin, y_ + 32, describe_request(request));
    y_ += kHeadHeight;
  }

  void lanes(const MappedRequest& request) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const bool on = (request.request.mask >> lane & 1U) != 0;
      const int x = kMargin + static_cast<int>(lane) * kCell;
      box(on ? formatted("g{}", lane / 4) : "off", x, y_, kCell - 2, on ? std::to_string(lane) : "");
    }
    y_ += kCellHeight;
  }

  void sectors(const MappedRequest& request) {
    const std::vector<MappedLine> lines = lines_of(request);
    lanes(request);
    const int lanes_bottom = y_;
    const bool one_row = lines.size() <= kLinesInRow;
    const int width = static_cast<int>(std::min<std::size_t>(lines.size(), kLinesInRow)) * kLineWidth - kLineGap;
    const int first = kMargin + std::max(0, (static_cast<int>(kLanes) * kCell - width) / 2);
    y_ += one_row ? kConnectors : kGap;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int column = static_cast<int>(i) % kLinesInRow;
      if (i != 0 && column == 0) y_ += kLineRowHeight;
      const int left = (one_row ? first : kMargin) + column * kLineWidth;
      for (unsigned sector = 0; sector < 4; ++sector) {
        const std::uint32_t touched = lines[i].lanes[sector];
        const int x = left + static_cast<int>(sector) * kSector;
        for (std::uint32_t rest = one_row ? touched : 0; rest != 0; rest &= rest - 1) {
          const int lane = std::countr_zero(rest);
          body_ += formatted("<line class=\"link k{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", lane / 4,
                             kMargin + lane * kCell + kCell / 2, lanes_bottom, x + kSector / 2, y_);
        }
        box(touched != 0 ? formatted("g{}", group_of(touched)) : "off", x, y_, kSector,
            touched != 0 ? lanes_text(touched, 5) : "");
      }
      const auto offset = static_cast<std::int64_t>(lines[i].line * 128 - request.base);
      text("small muted", left + 2 * kSector, y_ + kCellHeight + 12, formatted("{:+}", offset));
    }
    y_ += kLineRowHeight;
  }

  void banks(const MappedRequest& request) {
    for (unsigned bank = 0; bank < kBanks; ++bank)
      text("small muted", kMargin + static_cast<int>(bank) * kCell + kCell / 2, y_ + 10, std::to_string(bank));
    y_ += 16;
    for (const auto& pass : plan_banks(request).passes) {
      for (unsigned bank = 0; bank < kBanks; ++bank) {
        const int x = kMargin + static_cast<int>(bank) * kCell;
        box(pass[bank] != 0 ? formatted("g{}", group_of(pass[bank])) : "off", x, y_, kCell - 2,
            pass[bank] != 0 ? lanes_text(pass[bank], 4) : "");
      }
      y_ += kCellHeight + 1;
    }
  }

  std::string body_;
  int y_ = 0;
};

}  // namespace

BankPlan plan_banks(const MappedRequest& mapped) {
  const bool merge = !is_atomic(mapped.operation);
  unsigned phases = mapped.bytes <= 4 ? 1 : mapped.bytes == 8 ? 2 : 4;
  if (merge && shared_cost(mapped.request, mapped.bytes).wavefronts <= phases / 2) phases /= 2;  // They go in pairs.
  const unsigned lanes = kLanes / phases;
  BankPlan plan;
  for (unsigned phase = 0; phase < phases; ++phase) {
    const std::size_t first = plan.passes.size();
    std::array<std::vector<std::uint64_t>, kBanks> words;  // by bank, in the order of their passes
    for (unsigned lane = phase * lanes; lane < (phase + 1) * lanes; ++lane) {
      if ((mapped.request.mask >> lane & 1U) == 0) continue;
      // Words from the array's begin: in which bank that lies is the host's doing.
      const std::uint64_t last = (mapped.request.address[lane] + mapped.bytes - 1) / 4 - mapped.base / 4;
      for (std::uint64_t word = mapped.request.address[lane] / 4 - mapped.base / 4; word <= last; ++word) {
        auto& mine = words[word % kBanks];
        auto place = merge ? std::find(mine.begin(), mine.end(), word) : mine.end();
        if (place == mine.end()) place = mine.insert(mine.end(), word);
        const std::size_t pass = first + static_cast<std::size_t>(place - mine.begin());
        if (pass >= plan.passes.size()) plan.passes.resize(pass + 1);
        plan.passes[pass][word % kBanks] |= 1U << lane;
      }
    }
    plan.fewest += plan.passes.size() > first ? 1 : 0;
  }
  return plan;
}

std::string describe_request(const MappedRequest& mapped) {
  const auto active = static_cast<std::size_t>(std::popcount(mapped.request.mask));
  if (mapped.shared) {
    const BankPlan plan = plan_banks(mapped);
    const std::string text = formatted("{} {} served in {} pass{}", count(active, "lane"), active == 1 ? "is" : "are",
                                       plan.passes.size(), plan.passes.size() == 1 ? "" : "es");
    if (plan.passes.size() > plan.fewest) return text + formatted("; without bank conflicts {} would do.", plan.fewest);
    return text + ", without bank conflicts.";
  }
  LineList lines{};
  collect_lines(mapped.request, mapped.bytes, lines);
  return formatted("{} {} {} in {} of 128 bytes; {} of the {} bytes moved are used.", count(active, "lane"),
                   active == 1 ? "touches" : "touch", count(lines.sectors, "sector"), count(lines.count, "line"),
                   bytes_used(mapped), lines.sectors * kSectorBytes);
}

std::vector<MappedRequest> join_alike(std::vector<MappedRequest> requests) {
  const auto alike = [](const MappedRequest& a, const MappedRequest& b) {
    if (a.where != b.where || a.operation != b.operation || a.shared != b.shared || a.bytes != b.bytes ||
        a.request.mask != b.request.mask)
      return false;
    // As far into a line, and the lanes as far from each other.
    const auto lane = static_cast<unsigned>(std::countr_zero(a.request.mask));
    if (lane >= kLanes) return true;
    const std::uint64_t distance = b.request.address[lane] - a.request.address[lane];
    if (distance % 128 != 0) return false;
    for (unsigned i = lane; i < kLanes; ++i)
      if ((a.request.mask >> i & 1U) != 0 && b.request.address[i] - a.request.address[i] != distance) return false;
    return true;
  };
  std::vector<MappedRequest> result;
  for (MappedRequest& request : requests) {
    const auto found = std::find_if(result.begin(), result.end(), [&](const auto& r) { return alike(r, request); });
    if (found == result.end())
      result.push_back(std::move(request));
    else
      found->times += request.times;
  }
  return result;
}

std::string draw_access_map(const std::string& title, const std::vector<MappedKernel>& kernels) {
  Drawing drawing(title);
  std::string description = "What the first warp of each kernel touches in memory.";
  for (const MappedKernel& kernel : kernels) {
    drawing.kernel(kernel);
    description += " " + kernel.name + ":";
    for (const MappedRequest& request : kernel.requests)
      description += formatted(" {} of {} a lane in {} memory{}: {}", verb(request.operation),
                               count(request.bytes, "byte"), request.shared ? "shared" : "global",
                               request.where.empty() ? "" : " at " + request.where, describe_request(request));
  }
  return drawing.finish(title, description);
}

}  // namespace warpbook::emulator
