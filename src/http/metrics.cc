#include "http/metrics.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <iterator>

#include "http/text.h"

namespace weir::http {
namespace {

constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

void gauge(std::string& out, std::string_view name, std::string_view help, std::uint64_t value) {
  head(out, name, "gauge", help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void counter(std::string& out, std::string_view name, std::string_view help, std::uint64_t value) {
  head(out, name, "counter", help);
  fmt::format_to(std::back_inserter(out), "{} {}\n", name, value);
}

void histogram(std::string& out, std::string_view name, std::string_view help, const Counters::Histogram& values) {
  head(out, name, "histogram", help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < Counters::kBounds.size(); ++i) {
    below += values.buckets[i];
    fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"{}\"}} {}\n", name, Counters::kBounds[i], below);
  }
  fmt::format_to(std::back_inserter(out), "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, values.count, values.sum);
}

struct Counted {
  Metric metric;
  std::string_view name, labels, help;  // labels, with commas between
};
constexpr Counted kCounted[] = {
    {Metric::append_entries, "weir_append_entries_total", "", "Entries appended."},
    {Metric::conflicts, "weir_conflicts_total", "", "Appends and moves refused because a head had moved."},
    {Metric::reads, "weir_reads_total", "mode", "Reads through the cache."},
    {Metric::read_bytes, "weir_read_bytes_total", "kind", "Bytes of files read, answered and saved."},
    {Metric::compactions, "weir_compactions_total", "result", "Compactions."},
    {Metric::check_failures, "weir_check_failures_total", "check", "Checks of snapshots that failed."},
    {Metric::import_lines, "weir_import_lines_total", "format,result", "Lines imported."},
    {Metric::masked, "weir_masked_total", "rule", "Secrets masked."},
};

// name{a="x",b="y"} of "a,b" and "x,y".
std::string labelled(std::string_view names, std::string_view values) {
  const auto keys = split(names, ','), texts = split(values, ',');
  std::string out;
  for (std::size_t i = 0; i < keys.size(); ++i)
    out += fmt::format("{}{}=\"{}\"", i == 0 ? "" : ",", keys[i], escaped(i < texts.size() ? texts[i] : ""));
  return "{" + out + "}";
}

void counted(std::string& out, const Counted& what, const Counters& counters) {
  const auto values = counters.counted(what.metric);
  if (what.labels.empty()) {
    std::uint64_t sum = 0;
    for (const auto& [label, count] : values) sum += count;
    return counter(out, what.name, what.help, sum);
  }
  head(out, what.name, "counter", what.help);
  for (const auto& [label, count] : values)
    fmt::format_to(std::back_inserter(out), "{}{} {}\n", what.name, labelled(what.labels, label), count);
}

std::uint64_t fold_bytes(Service& service) {
  return service.stats_fold().held_bytes() + service.trust_fold().held_bytes() + service.info_fold().held_bytes() +
         service.nodes_fold().held_bytes() + service.run_fold().held_bytes() + service.research_fold().held_bytes();
}

void store_gauges(std::string& out, Service& service) {
  std::uint64_t sessions = 0, bytes = 0, free = 0;
  const auto read = service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto rows, reader.sessions());
    sessions = rows.size();
    return {};
  });
  if (!read.ok()) sessions = 0;
  if (service.store().sqlite() != nullptr) {
    const auto counted = service.store().bytes();
    bytes = counted.ok() ? *counted : service.store().database_bytes();
    struct statvfs disk{};
    if (::statvfs(service.store().directory().c_str(), &disk) == 0) free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  gauge(out, "weir_fold_cache_bytes", "Bytes of folded states held in memory.", fold_bytes(service));
  gauge(out, "weir_sessions", "Sessions in the store.", sessions);
  gauge(out, "weir_store_bytes", "Bytes of the store on disk, objects included.", bytes);
  gauge(out, "weir_store_free_bytes", "Bytes free on the store's file system.", free);
}

}  // namespace

void Metrics::request(const Finished& request) {
  const bool known = std::find(std::begin(kMethods), std::end(kMethods), request.method) != std::end(kMethods);
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(request.path), known ? std::string(request.method) : "other", request.status}];
  seconds_.add(request.seconds);
}

void Metrics::mcp(std::string_view era, std::string_view method, std::string_view result) {
  const std::lock_guard lock(mutex_);
  ++mcp_[{std::string(era), std::string(method), std::string(result)}];
}

std::string Metrics::text(Service& service, std::string_view version) const {
  std::string out;
  head(out, "weir_build_info", "gauge", "The program that answers.");
  fmt::format_to(std::back_inserter(out), "weir_build_info{{version=\"{}\"}} 1\n", escaped(version));
  {
    const std::lock_guard lock(mutex_);
    head(out, "weir_http_requests_total", "counter", "Requests answered.");
    for (const auto& [labels, count] : requests_)
      fmt::format_to(std::back_inserter(out), "weir_http_requests_total{{route=\"{}\",method=\"{}\",status=\"{}\"}} {}\n",
                     escaped(std::get<0>(labels)), std::get<1>(labels), std::get<2>(labels), count);
    histogram(out, "weir_http_request_seconds", "From a request's first byte to its answer.", seconds_);
    head(out, "weir_mcp_requests_total", "counter", "Requests of the Model Context Protocol.");
    for (const auto& [labels, count] : mcp_)
      fmt::format_to(std::back_inserter(out), "weir_mcp_requests_total{{era=\"{}\",method=\"{}\",result=\"{}\"}} {}\n",
                     escaped(std::get<0>(labels)), escaped(std::get<1>(labels)), escaped(std::get<2>(labels)), count);
  }
  histogram(out, "weir_append_seconds", "Appends, from the call to the durable commit.",
            service.counters().observed(Metric::append_seconds));
  for (const Counted& what : kCounted) counted(out, what, service.counters());
  store_gauges(out, service);
  gauge(out, "weir_sse_clients", "Open event streams.", static_cast<std::uint64_t>(std::max<std::int64_t>(0, event_streams_)));
  counter(out, "weir_auth_failures_total", "Requests without the right token.", auth_failures_);
  return out;
}

}  // namespace weir::http
