// Anchors: what a store held at one moment, in a few signed lines that are kept elsewhere (docs/anchor.md). A Merkle
// root over the sessions, their lengths, the digests of their last entries and where their heads stand; so whoever has
// the anchor sees later that a session is gone, was cut short or was rewritten, which no look at the store alone can show.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/signed_note.h"
#include "service/service.h"

namespace weir {

// What anchors, and the record of a purge, call a session or a head: a hash, which shows no id and can be compared.
Digest anchored_name(std::string_view name);

struct AnchoredHead {
  std::string name;  // or "sha256:" and the hex of its anchored_name
  Seq seq = 0;
  std::optional<Digest> digest;  // of the entry it stands at; nothing before the first one
};
struct AnchoredSession {
  std::string name;  // as of a head
  Seq entries = 0;
  std::optional<Digest> last;       // digest of the entry with the last seq
  std::vector<AnchoredHead> heads;  // by name
};

struct Anchor {
  std::string origin;
  std::uint64_t sessions = 0, entries = 0;
  Digest root;
  TimeMs at;
  bool listed = false;  // are the sessions below at hand?
  std::vector<AnchoredSession> list;

  // The lines that are signed.
  std::string text() const;
  // One line a session; `hidden` shows hashes instead of names. Both give the same root.
  std::string list_text(bool hidden) const;
};

// Of the store as it is now, read in one moment of the log. CORRUPT if it is damaged: an anchor says that all of it was there.
Result<Anchor> take_anchor(Service& service, std::string origin);

// The key that a store signs with, in its directory. NOT_FOUND if there is none; STORE_UNUSABLE if it is open to others.
inline constexpr std::string_view kAnchorKeyName = "anchor.key";
Result<NoteKey> load_anchor_key(Service& service);
Result<NoteKey> load_or_make_anchor_key(Service& service);

struct ParsedAnchor {
  Anchor anchor;
  std::string text;  // what was signed
  std::vector<NoteSignature> signatures;
};
// A note, and the list of its sessions if that follows it. INVALID_FIELD for anything else, and for a list that is not
// what the root was made of.
Result<ParsedAnchor> parse_anchor(std::string_view file);
// INVALID_FIELD unless the key signed it.
Result<void> check_signature(const ParsedAnchor& parsed, const NoteKey& key);

struct AnchorFinding {
  enum class Kind {
    gone,        // the session is not there, or its head main
    shorter,     // entries are missing at its end
    changed,     // an anchored entry has another digest
    fewer,       // fewer sessions or entries than anchored, by the note alone
    head_moved,  // legal: the entries are there, and a head stands off their path, or was deleted
    damaged      // what would tell cannot be read
  };
  Kind kind;
  std::string session;  // as the anchor has it; empty for Kind::fewer
  std::string what;
  std::optional<TimeMs> purged;  // the store has a record that it was purged

  bool removal() const { return kind != Kind::head_moved && kind != Kind::damaged; }
};
std::string_view name(AnchorFinding::Kind kind);

struct AnchorReport {
  enum class Verdict {
    consistent,
    removed,
    undecided,
    damaged  // nothing that was anchored is known to be gone, and the store is damaged all the same
  };
  Verdict verdict = Verdict::consistent;
  std::vector<AnchorFinding> findings;
  std::uint64_t compared = 0, begun_since = 0;  // sessions
};
std::string_view name(AnchorReport::Verdict verdict);

// Looks up what was anchored, in time that goes with the sessions and with what was appended since. Digests are believed
// as they stand in the rows; verify re-computes them.
Result<AnchorReport> compare_with_anchor(Service& service, const Anchor& anchor);

}  // namespace weir
