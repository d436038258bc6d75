// A small store on disk, with a blob and a branch, to be damaged behind Weir's back and verified.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/store.h"
#include "store/verify.h"
#include "testing/doors.h"
#include "testing/temp_dir.h"

namespace weir::testing {

// Session "s": n1 <- n2 (refers to the blob) <- n3 (a compaction) <- n4, and n5 under n2; heads main at 4, side at 5.
// Session "t": one entry with a derived id, head main.
class DamagedStore {
 public:
  DamagedStore();

  std::string directory() const { return dir_ / "store"; }
  std::string database() const { return directory() + "/weir.db"; }
  const Digest& blob() const { return blob_; }
  std::string blob_path() const { return directory() + "/objects/" + blob_.hex().substr(0, 2) + "/" + blob_.hex().substr(2); }
  const std::string& id_in_t() const { return id_in_t_; }

  // Runs the statements on a plain connection.
  void damage(const std::string& sql);

  Result<std::unique_ptr<Store>> open(Store::Access access = Store::Access::read);
  VerifyReport verify(VerifyOptions options = {});
  // The findings, as "session/entry/object: what" lines.
  std::vector<std::string> findings(VerifyOptions options = {});

 private:
  TempDir dir_;
  SeededRandom random_{11};
  Digest blob_;
  std::string id_in_t_;
};

std::string show(const Finding& finding);

}  // namespace weir::testing
