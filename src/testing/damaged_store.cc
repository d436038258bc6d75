#include "testing/damaged_store.h"

#include <filesystem>

#include "store/sqlite.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir::testing {
namespace {

const std::string& blob_bytes() {
  static const std::string bytes(70000, 'b');
  return bytes;
}

Entry entry_of_t() { return make_row(1, nullptr, "message", R"({"content":"elsewhere","role":"user"})"); }

void fill(Store& store) {
  const Digest blob = must(store.blobs().put(blob_bytes()));
  must(store.blobs().flush());
  must(write_to(store.log(), [&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow s, txn.create_session(SessionId::trusted("s"), TimeMs{1000}));
    const Entry n1 = make_row(1, nullptr, "message", R"({"content":"hello","role":"user"})", "n1");
    const Entry n2 = make_row(2, &n1, "message",
                              R"({"content":{"$blob":"sha256:)" + blob.hex() + R"(","bytes":70000,"preview":"bbb"},"role":"tool"})", "n2");
    const Entry n3 = make_row(3, &n2, "compaction", R"({"summary":"greeted"})", "n3");
    const Entry n4 = make_row(4, &n3, "message", R"({"content":"go on","role":"user"})", "n4");
    const Entry n5 = make_row(5, &n2, "message", R"({"content":"another way","role":"user"})", "n5");
    for (const Entry& entry : {n1, n2, n3, n4, n5}) TRY_DO(txn.insert(s.no, entry));
    TRY_DO(txn.set_head(s.no, HeadName::trusted("main"), 4));
    TRY_DO(txn.set_head(s.no, HeadName::trusted("side"), 5));
    TRY_DO(txn.add_masked(s.no, {{"jwt", 3}}));
    TRY(const SessionRow t, txn.create_session(SessionId::trusted("t"), TimeMs{2000}));
    TRY_DO(txn.insert(t.no, entry_of_t()));
    return txn.set_head(t.no, HeadName::trusted("main"), 1);
  }));
  must(store.sqlite()->compact(false));
}

// Made once; every test damages a copy.
const TempDir& sound_store() {
  static const TempDir dir;
  static const bool filled = [] {
    fill(*must(Store::open(dir / "store", Store::Access::write, {}, {})));
    return true;
  }();
  WEIR_CHECK(filled);
  return dir;
}

}  // namespace

DamagedStore::DamagedStore() : blob_(sha256(blob_bytes())), id_in_t_(entry_of_t().id.str()) {
  std::filesystem::copy(sound_store() / "store", directory(), std::filesystem::copy_options::recursive);
}

void DamagedStore::damage(const std::string& sql) {
  const auto connection = must(sqlite::Connection::open(database(), sqlite::Connection::Mode::read_write, 1000));
  must(connection->execute(sql.c_str()));
}

Result<std::unique_ptr<Store>> DamagedStore::open(Store::Access access) {
  return Store::open(directory(), access, {}, {system_files(), system_clock(), random_});
}

VerifyReport DamagedStore::verify(VerifyOptions options) {
  const auto store = must(open());
  return must(weir::verify(*store, options, [](const VerifyProgress&) { return true; }));
}

std::vector<std::string> DamagedStore::findings(VerifyOptions options) {
  std::vector<std::string> out;
  for (const Finding& finding : verify(options).findings) out.push_back(show(finding));
  return out;
}

std::string show(const Finding& finding) { return finding.session + "/" + finding.entry + "/" + finding.object + ": " + finding.what; }

}  // namespace weir::testing
