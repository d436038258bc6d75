// One request per line of stdin; for each a line of JSON. The far end of tests/oracle/breadboard_oracle.py.
//   {"read":hex}                        [plain, canonical, indented] of a JSON text, or an error's code
//   {"file":hex}                        the snapshot and findings of a record file
//   {"records":[text],"calls":[call]}   a session's files, and the answer to each call {"do":name,...}
#include <iostream>
#include <string>

#include "base/hex.h"
#include "ctree/breadboard.h"
#include "ctree/breadboard_python.h"

using namespace weir;
using namespace weir::breadboard;

namespace {

Value answer(Result<Value> result) { return result.ok() ? *result : Value(info(result.error().code()).name); }

std::string bytes_of(const Value& hex) {
  std::string out(hex.text().size() / 2, '\0');
  if (!decode_hex(hex.text(), reinterpret_cast<unsigned char*>(out.data()))) std::abort();
  return out;
}

Result<Value> read(const Value& request) {
  TRY(const Value value, read_json(bytes_of(request.get("read"))));
  return Value::array({plain(value), canonical(value), indented(value)});
}

Result<Value> file(const Value& request) {
  TRY(const RecordFile read, read_record_file(bytes_of(request.get("file"))));
  std::vector<Value> findings;
  for (const Finding& finding : read.findings) findings.push_back(Value::array({name(finding.what), finding.line, finding.other_line}));
  return Value::array({snapshot(read.store), Value::array(findings)});
}

Result<Value> summary(const Store& store, const Value& call) {
  const SummaryArgs args{call.get("config"), call.get("prompt_summary"), call.get("runner"), is_true(call.get("backfilled"))};
  TRY(const Value value, hash_summary(store, args));
  return Value::array({value, note_line(value)});
}

Result<Value> run(const Store& store, const Value& call) {
  const std::string what = call.get("do").text();
  if (what == "compile") return compile(store, call.get("config"), call.get("prompt_summary"));
  if (what == "summary") return summary(store, call);
  if (what == "collapse") {
    TRY(const CollapseArgs args, collapse_args(call.get("args")));
    return collapse_policy(store, args);
  }
  if (what == "tree") {
    TRY(const TreeArgs args, tree_args(call.get("args")));
    return tree_view(store, args);
  }
  TRY(const ContextArgs args, context_args(call.get("args")));
  TRY(const Context context, select_context(store, args));
  return Value::array({context.selection, injected_text(store, context)});
}

Result<Value> session(const Value& request) {
  Store store;
  const Value records = request.get("records"), calls = request.get("calls");
  for (const Value& text : records.items()) {
    TRY(const Value value, read_json(text.text()));
    TRY(Record record, record_of(value));
    store.record(std::move(record));
  }
  std::vector<Value> out{events_jsonl(store), snapshot_json(store), store.node_hash(), answer(collapse_ctree(store))};
  for (const Value& call : calls.items()) out.push_back(answer(run(store, call)));
  return Value::array(std::move(out));
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = read_json(line);
    if (!request.ok()) return 1;
    const bool reads = request->find("read") != nullptr, files = request->find("file") != nullptr;
    std::cout << plain(answer(reads ? read(*request) : files ? file(*request) : session(*request))) << '\n';
  }
  return 0;
}
