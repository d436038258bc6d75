#include "testing/model.h"

#include <algorithm>

#include "base/sha256.h"

namespace weir::testing {
namespace {

using Entry = Model::Entry;
using Session = Model::Session;

std::string shown(const std::optional<std::string>& expect) { return !expect ? "-" : expect->empty() ? "null" : *expect; }

std::string id_at(const Session& session, std::size_t seq) { return seq == 0 ? "null" : session.entries[seq - 1].id; }

std::string parent_digest(const Session& session, std::size_t seq) { return seq == 0 ? "" : session.entries[seq - 1].digest; }

// An exact id wins, then the entry pointer, e + 16 hex digits. 0: there is none.
std::size_t named(const Session& session, const std::string& name) {
  for (std::size_t seq = 1; seq <= session.entries.size(); ++seq) {
    if (session.entries[seq - 1].id == name) return seq;
  }
  for (std::size_t seq = 1; seq <= session.entries.size(); ++seq) {
    if ("e" + session.entries[seq - 1].digest.substr(0, 16) == name) return seq;
  }
  return 0;
}

std::string index_text(std::size_t index) { return " index=" + std::to_string(index); }

// "`expect` (the head the caller saw) makes it compare-and-set, and a loser gets CONFLICT with the current head"
std::optional<std::string> conflict(const Session& session, std::size_t head, const std::optional<std::string>& expect) {
  if (!expect) return std::nullopt;
  const bool as_expected = expect->empty() ? head == 0 : head != 0 && named(session, *expect) == head;
  if (as_expected) return std::nullopt;
  return "CONFLICT head=" + id_at(session, head) + " expect=" + shown(expect);
}

}  // namespace

std::string model_digest(const std::string& parent, const std::string& type, const std::string& body) {
  const std::string text =
      "{\"body\":" + body + ",\"parent\":" + (parent.empty() ? "null" : "\"" + parent + "\"") + ",\"type\":\"" + type + "\"}";
  return sha256(std::string("weir.entry.v1") + '\0' + text).hex();
}

std::string Model::answer(const Call& call) {
  // "all entries of a call or none"
  const auto before = sessions_;
  try {
    return std::visit([&](const auto& one) { return apply(one); }, call);
  } catch (const Refusal& refusal) {
    sessions_ = before;
    return refusal.text;
  }
}

Session& Model::need_session(const std::string& name) {
  const auto it = sessions_.find(name);
  if (it == sessions_.end()) throw Refusal{"NOT_FOUND"};
  return it->second;
}

std::string Model::apply(const AppendCall& call) {
  const bool made = !sessions_.contains(call.session);
  Session& session = sessions_[call.session];
  // `main` is there from the start; another head is made by a fork, or by the first append of its session.
  if (!session.heads.contains(call.head) && call.head != "main" && !session.entries.empty()) throw Refusal{"NOT_FOUND"};
  std::size_t head = session.heads.contains(call.head) ? session.heads[call.head] : 0;
  if (const auto lost = conflict(session, head, call.expect)) throw Refusal{*lost};

  std::string out;
  std::size_t before = head;
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const EntryCall& entry = call.entries[i];
    // "An entry goes under its parent, without one under the entry before it in the call, the first under the head"
    std::size_t parent = before;
    if (entry.parent == EntryCall::Parent::root) parent = 0;
    if (entry.parent == EntryCall::Parent::named) {
      parent = named(session, entry.parent_name);
      if (parent == 0) throw Refusal{"NOT_FOUND" + index_text(i)};
    }
    std::size_t known = 0;
    Entry made_entry{entry.id.value_or(""), entry.type, entry.body, model_digest(parent_digest(session, parent), entry.type, entry.body),
                     parent};
    const auto with_id = [&](const std::string& id) {
      const auto it = std::find_if(session.entries.begin(), session.entries.end(), [&](const Entry& other) { return other.id == id; });
      return it == session.entries.end() ? 0 : static_cast<std::size_t>(it - session.entries.begin()) + 1;
    };
    if (entry.id) {
      // "the same id with the same parent, type and body is a no-op that returns the first entry (a parent the caller
      // left out is not compared), with other content it is ID_REUSED"
      known = with_id(*entry.id);
      if (known != 0) {
        const Entry& other = session.entries[known - 1];
        const bool same_parent = entry.parent == EntryCall::Parent::left_out || other.parent == parent;
        if (!same_parent || other.type != entry.type || other.body != entry.body) {
          throw Refusal{"ID_REUSED id=" + *entry.id + " seq=" + std::to_string(known) + index_text(i)};
        }
      }
    } else {
      // "e + 8 hex digits of the digest, lengthened while another digest has it"; "A derived id that the same digest
      // already has is that entry: a no-op too"
      std::size_t digits = 8;
      made_entry.id = "e" + made_entry.digest.substr(0, digits);
      while (with_id(made_entry.id) != 0 && session.entries[with_id(made_entry.id) - 1].digest != made_entry.digest) {
        made_entry.id = "e" + made_entry.digest.substr(0, ++digits);
      }
      known = with_id(made_entry.id);
    }
    if (known == 0) {
      session.entries.push_back(made_entry);
      head = before = session.entries.size();
    } else {
      // "A no-op moves the head only from that entry's parent to it"
      if (session.entries[known - 1].parent == head) head = known;
      before = known;
    }
    const Entry& there = session.entries[before - 1];
    out += std::to_string(before) + " " + there.id + " " + there.digest + (known == 0 ? " new; " : " known; ");
  }
  if (made) session.heads.emplace("main", 0);
  session.heads[call.head] = head;
  return "OK " + out + "head=" + id_at(session, head) + (made ? " made" : "");
}

std::string Model::apply(const MoveCall& call) {
  Session& session = need_session(call.session);
  if (!session.heads.contains(call.head) && call.head != "main") throw Refusal{"NOT_FOUND"};
  const std::size_t head = session.heads.contains(call.head) ? session.heads[call.head] : 0;
  if (const auto lost = conflict(session, head, call.expect)) throw Refusal{*lost};
  std::size_t target = 0;
  if (!call.entry.empty()) {
    target = named(session, call.entry);
    if (target == 0) throw Refusal{"NOT_FOUND"};
    if (call.before) target = session.entries[target - 1].parent;
  }
  if (target != head) session.heads[call.head] = target;
  return "OK head=" + id_at(session, target);
}

std::string Model::apply(const ForkCall& call) {
  Session& session = need_session(call.session);
  const std::size_t target = call.entry.empty() ? 0 : named(session, call.entry);
  if (!call.entry.empty() && target == 0) throw Refusal{"NOT_FOUND"};
  if (session.heads.contains(call.head)) throw Refusal{"CONFLICT head=" + id_at(session, session.heads[call.head])};
  session.heads[call.head] = target;
  return "OK head=" + id_at(session, target);
}

std::string Model::apply(const DeleteHeadCall& call) {
  Session& session = need_session(call.session);
  if (call.head == "main") throw Refusal{"INVALID_FIELD"};
  if (!session.heads.contains(call.head)) throw Refusal{"NOT_FOUND"};
  if (session.heads.size() == 1) throw Refusal{"INVALID_FIELD"};
  session.heads.erase(call.head);
  return "OK";
}

std::string Model::apply(const DeleteSessionCall& call) {
  if (sessions_.erase(call.session) == 0) throw Refusal{"NOT_FOUND"};
  return "OK";
}

std::string Model::dump() const {
  std::string out;
  for (const auto& [name, session] : sessions_) {
    out += "session " + name + "\n";
    for (const auto& [head, seq] : session.heads) out += "  head " + head + " at " + std::to_string(seq) + "\n";
    for (std::size_t seq = 1; seq <= session.entries.size(); ++seq) {
      const Entry& entry = session.entries[seq - 1];
      std::string path;
      std::size_t barrier = 0;
      for (std::size_t at = seq; at != 0; at = session.entries[at - 1].parent) {
        path = " " + std::to_string(at) + path;
        if (barrier == 0 && session.entries[at - 1].type == "compaction") barrier = at;
      }
      out += "  " + std::to_string(seq) + " " + entry.id + " " + entry.type + " " + entry.body + " " + entry.digest + " barrier " +
             std::to_string(barrier) + " path" + path + "\n";
    }
  }
  return out;
}

std::string show(const Call& call) {
  struct Shower {
    std::string operator()(const AppendCall& c) const {
      std::string out = "append " + c.session + " " + c.head + " expect " + shown(c.expect) + ":";
      for (const EntryCall& e : c.entries) {
        const std::string parent = e.parent == EntryCall::Parent::left_out ? "-"
                                   : e.parent == EntryCall::Parent::root   ? "root"
                                                                           : e.parent_name;
        out += " [" + e.type + " " + e.body + " id " + e.id.value_or("-") + " under " + parent + "]";
      }
      return out;
    }
    std::string operator()(const MoveCall& c) const {
      return "move " + c.session + " " + c.head + (c.before ? " before " : " to ") + (c.entry.empty() ? "the start" : c.entry) +
             " expect " + shown(c.expect);
    }
    std::string operator()(const ForkCall& c) const { return "fork " + c.session + " " + c.head + " at " + c.entry; }
    std::string operator()(const DeleteHeadCall& c) const { return "delete head " + c.session + " " + c.head; }
    std::string operator()(const DeleteSessionCall& c) const { return "delete session " + c.session; }
  };
  return std::visit(Shower{}, call);
}

}  // namespace weir::testing
