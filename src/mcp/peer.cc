#include "mcp/peer.h"

#include "json/canonical.h"

namespace weir::mcp {

void Peer::agree(Revision revision, std::string capabilities) {
  const std::lock_guard lock(mutex_);
  revision_ = revision;
  capabilities_ = std::move(capabilities);
}

std::optional<Revision> Peer::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

std::string Peer::capabilities() const {
  const std::lock_guard lock(mutex_);
  return capabilities_;
}

void Peer::set_level(int level) {
  const std::lock_guard lock(mutex_);
  level_ = level;
}

std::optional<int> Peer::level() const {
  const std::lock_guard lock(mutex_);
  return level_;
}

void Peer::subscribe(const std::string& uri, bool wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted) {
    subscribed_.insert(uri);
  } else {
    subscribed_.erase(uri);
  }
}

std::set<std::string> Peer::subscribed() const {
  const std::lock_guard lock(mutex_);
  return subscribed_;
}

bool Peer::knows_roots() const {
  const std::lock_guard lock(mutex_);
  return knows_roots_;
}

void Peer::set_roots(std::optional<std::vector<std::string>> roots) {
  const std::lock_guard lock(mutex_);
  knows_roots_ = true;
  if (roots) roots_ = std::move(roots);
}

std::optional<std::vector<std::string>> Peer::roots() const {
  const std::lock_guard lock(mutex_);
  return roots_;
}

void Peer::forget_roots() {
  const std::lock_guard lock(mutex_);
  knows_roots_ = false;
}

bool Peer::begin(const std::shared_ptr<Task>& task) {
  const std::lock_guard lock(mutex_);
  return under_way_.emplace(task->id_text, task).second;
}

void Peer::end(const Task& task) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(task.id_text);
  if (found != under_way_.end() && found->second.get() == &task) under_way_.erase(found);
}

void Peer::cancel(std::string_view id_text) {
  const std::lock_guard lock(mutex_);
  if (const auto found = under_way_.find(id_text); found != under_way_.end()) {
    found->second->cancel();
    under_way_.erase(found);
    heard_.notify_all();
  }
  for (const auto& [id, receipt] : answered_) {
    if (id == id_text) receipt->lost();
  }
}

void Peer::answering(const Task& task) {
  const std::lock_guard lock(mutex_);
  if (answered_.size() == kAnsweredKept) answered_.pop_front();
  answered_.emplace_back(task.id_text, task.receipt);
}

void Peer::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, task] : under_way_) task->cancel();
  under_way_.clear();
  heard_.notify_all();
}

void Peer::in_order(const std::string& name, std::function<void()> work, api::Workers& workers) {
  {
    const std::lock_guard lock(mutex_);
    const auto [line, first] = waiting_.try_emplace(name);
    if (!first) {
      line->second.push_back(std::move(work));
      return;
    }
  }
  workers.run([self = shared_from_this(), name, next = std::move(work)]() mutable {
    for (;;) {
      next();
      const std::lock_guard lock(self->mutex_);
      auto& line = self->waiting_[name];
      if (line.empty()) {
        self->waiting_.erase(name);
        return;
      }
      next = std::move(line.front());
      line.pop_front();
    }
  });
}

std::optional<Peer::Answer> Peer::ask(Task& task, std::string_view method, const json::Value& params, std::chrono::milliseconds patience) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = "\"weir-" + std::to_string(next_ask_++) + "\"";
    asked_.emplace(id, std::nullopt);
  }
  json::Arena arena;
  task.channel->tell(json::canonical(
      json::make_object(arena, {{"jsonrpc", "2.0"}, {"id", json::Value::raw(id)}, {"method", method}, {"params", params}})));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::unique_lock lock(mutex_);
  while (!asked_[id] && !task.cancelled() && std::chrono::steady_clock::now() < deadline)
    heard_.wait_for(lock, std::chrono::milliseconds(200));
  std::optional<Answer> answer = std::move(asked_[id]);
  asked_.erase(id);
  return answer;
}

bool Peer::answered(std::string_view id_text, Answer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.find(id_text);
  if (found == asked_.end() || found->second) return false;
  found->second = std::move(answer);
  heard_.notify_all();
  return true;
}

}  // namespace weir::mcp
