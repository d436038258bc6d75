// The slow, obviously right log: sessions, heads and append as DESIGN section 2 says them, with maps, vectors and
// linear search. Calls and answers are data, so that the same call goes to the model and to every real log.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir::testing {

struct EntryCall {
  std::string type, body;         // the body is canonical
  std::optional<std::string> id;  // none: derived
  enum class Parent { left_out, root, named };
  Parent parent = Parent::left_out;
  std::string parent_name;  // id or entry pointer
};

// An expect is a name, or empty for "before the first entry".
struct AppendCall {
  std::string session, head;
  std::optional<std::string> expect;
  std::vector<EntryCall> entries;
};
struct MoveCall {
  std::string session, head, entry;  // an empty entry: before the first
  bool before = false;
  std::optional<std::string> expect;
};
struct ForkCall {
  std::string session, head, entry;
};
struct DeleteHeadCall {
  std::string session, head;
};
struct DeleteSessionCall {
  std::string session;
};
using Call = std::variant<AppendCall, MoveCall, ForkCall, DeleteHeadCall, DeleteSessionCall>;

std::string show(const Call& call);

class Model {
 public:
  struct Entry {
    std::string id, type, body, digest;  // digest in hex
    std::size_t parent = 0;              // seq, 0 for a root
  };
  struct Session {
    std::vector<Entry> entries;                // entries[seq - 1]
    std::map<std::string, std::size_t> heads;  // seq, 0 for "before the first entry"
  };

  // What a call answers, as text: an error's code with the details that count, or what was appended and where the head is.
  std::string answer(const Call& call);

  const std::map<std::string, Session>& sessions() const { return sessions_; }
  // Everything: heads, entries, and for each entry its path and barrier.
  std::string dump() const;

 private:
  struct Refusal {
    std::string text;
  };
  std::string apply(const AppendCall& call);
  std::string apply(const MoveCall& call);
  std::string apply(const ForkCall& call);
  std::string apply(const DeleteHeadCall& call);
  std::string apply(const DeleteSessionCall& call);

  Session& need_session(const std::string& name);

  std::map<std::string, Session> sessions_;
};

// The digest of DESIGN section 3, put together by hand. `parent` is hex, or empty for a root.
std::string model_digest(const std::string& parent, const std::string& type, const std::string& body);

}  // namespace weir::testing
