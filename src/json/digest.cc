#include "json/digest.h"

#include "json/canonical.h"

namespace weir::json {
namespace {

constexpr std::string_view kNames[] = {
    "weir.entry.v1",  "weir.node.v1",        "weir.value.v1",       "weir.nodes.v1",       "weir.stage.v1",       "weir.selection.v1",
    "weir.config.v1", "weir.ids.v1",         "weir.list.v1",        "weir.prompt.v1",      "weir.tree.v1",        "weir.summary.v1",
    "weir.prefix.v1", "weir.context.v1",     "weir.manifest_id.v1", "weir.evidence_id.v1", "weir.snapshot_id.v1", "weir.failure_id.v1",
    "weir.ledger.v1", "weir.pack.v1",        "weir.pool.v1",        "weir.gate_b.v1",      "weir.gate_c.v1",      "weir.gate_d.v1",
    "weir.gate_e.v1", "weir.anchor_name.v1", "weir.anchor_leaf.v1",
};

}  // namespace

std::string_view name(Domain domain) { return kNames[static_cast<int>(domain)]; }

Sha256 begin(Domain domain) {
  Sha256 hash;
  hash.update(name(domain)).update(std::string_view("\0", 1));
  return hash;
}

Digest digest_text(Domain domain, std::string_view canonical_text) { return begin(domain).update(canonical_text).finish(); }
Digest digest(Domain domain, const Value& value) { return digest_text(domain, canonical(value)); }

Sha256 Hasher::begin(Domain domain) const {
  if (!key_) return json::begin(domain);
  Sha256 hash = key_->begin();
  hash.update(name(domain)).update(std::string_view("\0", 1));
  return hash;
}

Digest Hasher::text(Domain domain, std::string_view canonical_text) const {
  Sha256 hash = begin(domain);
  hash.update(canonical_text);
  return finish(hash);
}

Digest Hasher::value(Domain domain, const Value& value) const { return text(domain, canonical(value)); }

}  // namespace weir::json
