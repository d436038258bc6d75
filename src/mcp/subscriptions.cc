#include "mcp/subscriptions.h"

#include <vector>

#include "mcp/resources.h"

namespace weir::mcp {
namespace {

constexpr std::size_t kMany = 500;
constexpr std::string_view kUpdated = "notifications/resources/updated";
constexpr std::string_view kResources = "notifications/resources/list_changed";
constexpr std::string_view kTools = "notifications/tools/list_changed";
constexpr std::string_view kPrompts = "notifications/prompts/list_changed";

bool wants(const Wanted& wanted, std::string_view method, std::string_view uri) {
  if (method == kUpdated) return wanted.uris.contains(std::string(uri));
  if (method == kResources) return wanted.resources;
  if (method == kTools) return wanted.tools;
  return method == kPrompts && wanted.prompts;
}

}  // namespace

Subscriptions::Subscriptions(api::World& world) : world_(world) {}

Subscriptions::~Subscriptions() {
  if (feed_ != 0) world_.feed.leave(feed_);
}

std::uint64_t Subscriptions::add(Wanted wanted, Tell tell) {
  const std::lock_guard lock(mutex_);
  learn(wanted);
  const std::uint64_t listener = next_++;
  listeners_.emplace(listener, Listener{std::move(wanted), std::move(tell)});
  if (feed_ == 0) feed_ = world_.feed.listen([this] { look(); });
  return listener;
}

void Subscriptions::change(std::uint64_t listener, Wanted wanted) {
  const std::lock_guard lock(mutex_);
  const auto found = listeners_.find(listener);
  if (found == listeners_.end()) return;
  learn(wanted);
  found->second.wanted = std::move(wanted);
}

void Subscriptions::remove(std::uint64_t listener) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(listener);
}

void Subscriptions::publish(std::string_view method, std::string_view uri) {
  std::vector<Tell> tells;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, listener] : listeners_)
      if (wants(listener.wanted, method, uri)) tells.push_back(listener.tell);
  }
  for (const Tell& tell : tells) tell(method, uri);
}

// Where things stand, for what nobody has asked about so far: only what happens from now on is a change.
void Subscriptions::learn(const Wanted& wanted) {
  static_cast<void>(world_.service.log()
                        .read([&](LogReader& reader) -> Result<void> {
                          for (const std::string& uri : wanted.uris)
                            if (!states_.contains(uri)) states_[uri] = state_of(reader, uri);
                          bool listed = false;
                          for (const auto& [id, listener] : listeners_) listed = listed || listener.wanted.resources;
                          if (wanted.resources && !listed) {
                            TRY(const auto sessions, reader.sessions());
                            sessions_ = sessions.size();
                          }
                          return {};
                        })
                        .ok());
}

// A text that is another one after an append or a move of a head.
std::string Subscriptions::state_of(LogReader& reader, const std::string& uri) const {
  const auto name = parse_resource(uri);
  const auto id = name ? SessionId::parse(name->session) : Result<SessionId>(Error(ErrorCode::NOT_FOUND, ""));
  if (!id.ok()) return {};
  const auto session = reader.session(*id);
  if (!session.ok() || !*session) return {};
  std::string out;
  if (name->kind == "session") {
    const auto last = reader.last_seq((*session)->no);
    out = last.ok() ? std::to_string(*last) : "";
  }
  const auto heads = reader.heads((*session)->no);
  if (!heads.ok()) return out;
  for (const HeadRow& head : *heads)
    if (name->kind == "session" || (name->kind == "head" && head.name.str() == name->part))
      out += " " + head.name.str() + "=" + std::to_string(head.seq);
  return out;
}

void Subscriptions::look() {
  std::vector<std::string> updated;
  bool listed = false;
  {
    const std::lock_guard lock(mutex_);
    std::set<std::string> uris;
    bool lists = false;
    for (const auto& [id, listener] : listeners_) {
      uris.insert(listener.wanted.uris.begin(), listener.wanted.uris.end());
      lists = lists || listener.wanted.resources;
    }
    static_cast<void>(world_.service.log()
                          .read([&](LogReader& reader) -> Result<void> {
                            for (const std::string& uri : uris) {
                              std::string state = state_of(reader, uri);
                              if (state != states_[uri]) updated.push_back(uri);
                              states_[uri] = std::move(state);
                            }
                            // Of a store with very many sessions the list is looked at now and then only.
                            const auto now = std::chrono::steady_clock::now();
                            if (!lists) return {};
                            if (sessions_ > kMany && now - listed_at_ < std::chrono::seconds(1)) {
                              world_.feed.again();
                              return {};
                            }
                            listed_at_ = now;
                            TRY(const auto sessions, reader.sessions());
                            listed = sessions.size() != sessions_;
                            sessions_ = sessions.size();
                            return {};
                          })
                          .ok());
    std::erase_if(states_, [&](const auto& state) { return !uris.contains(state.first); });
  }
  if (listed) publish(kResources);
  for (const std::string& uri : updated) publish(kUpdated, uri);
}

}  // namespace weir::mcp
