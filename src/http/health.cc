#include "http/health.h"

#include "base/limits.h"
#include "json/canonical.h"

namespace weir::http {

std::vector<std::string> reasons_not_ready(Service& service) {
  std::vector<std::string> out;
  const bool readable = service.log().version().ok();
  const SqliteLog* sqlite = service.store().sqlite();
  if (!readable || (sqlite != nullptr && sqlite->poisoned())) out.emplace_back("store");
  if (sqlite != nullptr) {
    const auto full = service.store().doors().files.percent_full(service.store().directory());
    if (!full.ok() || *full >= limits::kDiskFullPercent) out.emplace_back("disk");
  }
  return out;
}

std::string reasons_json(const std::vector<std::string>& reasons) {
  json::Arena arena;
  std::vector<json::Value> items(reasons.begin(), reasons.end());
  return json::canonical(json::make_object(arena, {{"reasons", json::make_array(arena, items)}}));
}

}  // namespace weir::http
