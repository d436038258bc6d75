// digest(domain, value) = SHA-256(domain, 0x00, canonical(value)). The domains stand here and nowhere else; a change
// of any hash rule makes a new version of its domain.
#pragma once

#include <optional>
#include <string_view>

#include "base/sha256.h"
#include "json/value.h"

namespace weir::json {

enum class Domain {
  entry,      // {"body","parent","type"}, store/entry.h
  node,       // {"kind","payload","turn"}; from here to manifest_id: the context compiler, docs/ctree.md
  value,      // a sanitised payload, content or list of tool calls alone
  nodes,      // [chain value before, digest of the node]
  stage,      // {"payload","stage"}
  selection,  // {"barrier","config","dropped","selection"}
  config,     // the effective configuration
  ids,        // node ids
  list,       // a list too long to be shown
  prompt,     // a prompt's summary
  tree,       // ids of a tree view
  summary,    // a summary of hashes
  prefix,     // {"messages","tools"} of the stable prefix
  context,    // the same of everything
  manifest_id,
  evidence_id,  // {"chunk_id","ns","span"}; from here on: compaction snapshots, docs/snapshot.md
  snapshot_id,  // a snapshot's hashed form
  failure_id,   // {"category","error_code","tool_name","where"}
  ledger,       // {"claims","evidence","withdrawn"}
  pack,         // a summary pack without its time; from here on: research runs, docs/research.md
  pool,         // [[cid, status], ...]
  gate_b,       // what each gate looked at
  gate_c,
  gate_d,
  gate_e,
  anchor_name,  // a session's id, or a head's name; from here on: anchors, docs/anchor.md
  anchor_leaf,  // {"entries","heads","last","session"}: a leaf's data are domain, zero byte and text
};

std::string_view name(Domain domain);

// A hash that has taken the domain and the zero byte.
Sha256 begin(Domain domain);

Digest digest_text(Domain domain, std::string_view canonical_text);
Digest digest(Domain domain, const Value& value);

// The same with a key, if there is one: hashes of short content can then not be guessed (HMAC-SHA-256).
class Hasher {
 public:
  Hasher() = default;
  explicit Hasher(std::string_view key) : key_(key) {}
  bool keyed() const { return key_.has_value(); }

  // A hash that has taken the domain and the zero byte; finish() gives its digest.
  Sha256 begin(Domain domain) const;
  Digest finish(Sha256& hash) const { return key_ ? key_->finish(hash) : hash.finish(); }

  Digest text(Domain domain, std::string_view canonical_text) const;
  Digest value(Domain domain, const Value& value) const;

 private:
  std::optional<HmacKey> key_;
};

}  // namespace weir::json
