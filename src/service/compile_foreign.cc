#include "service/compile_foreign.h"

#include "base/secrets.h"
#include "service/compile.h"
#include "service/reading.h"
#include "session/path.h"
#include "session/types.h"

namespace weir {

Result<ForeignRecords> foreign_records(Service& service, const Address& address) {
  ForeignRecords out;
  std::vector<Entry> entries;
  std::vector<std::int64_t> turns;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    TRY(const auto nodes, service.nodes_fold().at(reader, located.session.no, located.seq));
    std::vector<Seq> seqs;
    nodes->nodes.each(0, nodes->size(), [&](std::size_t, const ctree::Node& node) {
      seqs.push_back(node.seq);
      turns.push_back(node.turn);
    });
    return walk(reader, located.session.no, seqs, Columns::all, [&](Entry& entry) -> Result<bool> {
      entries.push_back(std::move(entry));
      return true;
    });
  }));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool message = entries[i].type == types::kMessage;
    if (!message && entries[i].type != types::kCtreeNode) continue;
    TRY(const std::string body, resolved_body(service, entries[i]));
    TRY(breadboard::Record record, message ? breadboard::record_of_message(body, turns[i]) : breadboard::record_of_ctree_node(body));
    const breadboard::Node& node = out.store.record(std::move(record));
    if (body.find(kRedacted) != std::string::npos) out.masked.push_back(node.id);
  }
  return out;
}

}  // namespace weir
