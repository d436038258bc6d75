#include "service/compile_foreign.h"

#include "base/secrets.h"
#include "json/parse.h"
#include "service/compile.h"
#include "service/reading.h"
#include "session/address.h"
#include "session/path.h"
#include "session/types.h"

namespace weir {

Result<ForeignRecords> foreign_records(Service& service, const Address& address) {
  ForeignRecords out;
  SessionNo session;
  std::vector<Entry> entries;
  std::vector<std::int64_t> turns;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    session = located.session.no;
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
    TRY(const std::string body, resolved_body(service, session, entries[i]));
    TRY(breadboard::Record record, message ? breadboard::record_of_message(body, turns[i]) : breadboard::record_of_ctree_node(body));
    const breadboard::Node& node = out.store.record(std::move(record));
    if (body.find(kRedacted) != std::string::npos) out.masked.push_back(node.id);
  }
  return out;
}

namespace {

using breadboard::Value;

Result<std::string> checked(const Value& value) {
  std::string text = breadboard::plain(value);
  json::Parser parser;
  if (const auto parsed = parser.parse_stored(text); !parsed.ok())
    return Error(ErrorCode::NOT_REPRODUCIBLE, "the answer is no JSON: " + parsed.error().message());
  return text;
}

Value header_config(bool previews) {
  return previews ? Value::object({{"header", Value::object({{"mode", "sanitized_content"}})}}) : Value();
}

Value last_node(const breadboard::Store& store) {
  if (store.size() == 0) return {};
  const breadboard::Node& node = store[store.size() - 1];
  return Value::object({{"id", node.id}, {"digest", node.digest}, {"kind", node.kind}, {"turn", node.turn}});
}

}  // namespace

Result<std::string> foreign_ctrees(Service& service, const Address& address, const Value& prompt_summary) {
  TRY(const ForeignRecords records, foreign_records(service, address));
  EntryId entry;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located located, locate(reader, address));
    TRY(entry, id_at(reader, located.session.no, located.seq));
    return {};
  }));
  TRY(const Value output, breadboard::compile(records.store, {}, prompt_summary));
  TRY(const Value collapse, breadboard::collapse_ctree(records.store));
  TRY(const Value summary, breadboard::hash_summary(records.store, {.prompt_summary = prompt_summary}));
  return checked(Value::object({{"profile", breadboard::kProfile},
                                {"schema_version", breadboard::kSchemaVersion},
                                {"session", address.session.str()},
                                {"entry", entry.empty() ? Value() : Value(entry.str())},
                                {"snapshot", breadboard::snapshot(records.store)},
                                {"compiler", output},
                                {"collapse", collapse},
                                {"runner", Value()},
                                {"last_node", last_node(records.store)},
                                {"hash_summary", summary},
                                {"context_engine", Value()},
                                {"truncated", false}}));
}

Result<std::string> foreign_tree(Service& service, const Address& address, breadboard::TreeArgs args) {
  TRY(const ForeignRecords records, foreign_records(service, address));
  TRY(const Value view, breadboard::tree_view(records.store, args));
  return checked(breadboard::with_member(view, "profile", breadboard::kProfile));
}

Result<std::string> foreign_stage(Service& service, const Address& address, std::string_view stage, bool previews,
                                  const Value& prompt_summary) {
  TRY(const ForeignRecords records, foreign_records(service, address));
  TRY(const Value output, breadboard::compile(records.store, header_config(previews), prompt_summary));
  const Value one = Value::object({{std::string(stage), output.get("stages").get(stage)}});
  return checked(breadboard::with_member(output, "stages", one));
}

}  // namespace weir
