#include "testing/crash_disk.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "testing/temp_dir.h"

namespace weir::testing {

using Kind = DiskEvent::Kind;

std::optional<std::string> DiskRecorder::below_root(std::string_view path) const {
  if (path == root_) return "";
  if (path.size() <= root_.size() || !path.starts_with(root_) || path[root_.size()] != '/') return std::nullopt;
  return std::string(path.substr(root_.size() + 1));
}

void DiskRecorder::record(Kind kind, std::string_view path, std::uint64_t offset, std::string_view bytes) {
  if (auto below = below_root(path)) {
    const std::lock_guard lock(mutex_);
    events_.push_back({kind, std::move(*below), offset, std::string(bytes)});
  }
}

void DiskRecorder::rename(std::string_view from, std::string_view to) {
  if (const auto target = below_root(to)) record(Kind::rename, from, 0, *target);
}

void DiskRecorder::acknowledge(std::string what) {
  const std::lock_guard lock(mutex_);
  events_.push_back({Kind::acknowledge, std::move(what), 0, {}});
}

Result<void> RecordedFiles::write_synced(const std::string& path, std::string_view bytes) {
  TRY_DO(files_.write_synced(path, bytes));
  disk_.record(Kind::create, path);
  disk_.record(Kind::write, path, 0, bytes);
  disk_.record(Kind::sync, path);
  return {};
}

Result<void> RecordedFiles::write_new(const std::string& path, std::string_view bytes) {
  TRY_DO(files_.write_new(path, bytes));
  disk_.record(Kind::create, path);
  disk_.record(Kind::write, path, 0, bytes);
  unsynced_.push_back(path);
  return {};
}

Result<void> RecordedFiles::sync_file_system(const std::string& path) {
  TRY_DO(files_.sync_file_system(path));
  for (const std::string& written : unsynced_) disk_.record(Kind::sync, written);
  unsynced_.clear();
  return {};
}

Result<void> RecordedFiles::rename(const std::string& from, const std::string& to) {
  TRY_DO(files_.rename(from, to));
  disk_.rename(from, to);
  return {};
}

Result<void> RecordedFiles::sync_directory(const std::string& path) {
  TRY_DO(files_.sync_directory(path));
  disk_.record(Kind::sync_directory, path);
  return {};
}

Result<void> RecordedFiles::make_directory(const std::string& path) {
  const bool there = files_.stat(path).ok();
  TRY_DO(files_.make_directory(path));
  if (!there) disk_.record(Kind::make_directory, path);
  return {};
}

Result<void> RecordedFiles::remove(const std::string& path) {
  TRY_DO(files_.remove(path));
  disk_.record(Kind::remove, path);
  return {};
}

namespace {

struct Change {  // of a file's data since it was synced
  bool truncate = false;
  std::uint64_t offset = 0;
  std::string bytes;
};

void apply(const Change& change, std::string& data) {
  if (change.truncate) {
    data.resize(change.offset);
    return;
  }
  data.resize(std::max<std::size_t>(data.size(), change.offset + change.bytes.size()));
  std::copy(change.bytes.begin(), change.bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

}  // namespace

struct DiskModel::Node {
  bool directory = false;
  std::string data, synced;
  std::vector<Change> unsynced;
  std::map<std::string, NodePointer> now, lasting;  // names in a directory

  void change(Change what) {
    testing::apply(what, data);
    unsynced.push_back(std::move(what));
  }

  std::string torn() const {
    std::string out = synced;
    const auto last = std::find_if(unsynced.rbegin(), unsynced.rend(), [](const Change& change) { return !change.truncate; });
    for (const Change& change : unsynced) {
      Change applied = change;
      if (last != unsynced.rend() && &change == &*last) applied.bytes.resize(applied.bytes.size() / 2);
      testing::apply(applied, out);
    }
    return out;
  }

  std::string some_sectors(SeededRandom& random) const {
    constexpr std::uint64_t kSector = 512;
    const std::uint64_t share = 1 + random.next() % 9;  // of ten
    std::string out = synced;
    for (const Change& change : unsynced) {
      if (change.truncate) {
        if (random.next() % 10 < share) testing::apply(change, out);
        continue;
      }
      for (std::uint64_t at = 0; at < change.bytes.size();) {
        const std::uint64_t n = std::min<std::uint64_t>(change.bytes.size() - at, kSector - (change.offset + at) % kSector);
        if (random.next() % 10 < share) testing::apply({false, change.offset + at, change.bytes.substr(at, n)}, out);
        at += n;
      }
    }
    return out;
  }

  std::string after(Cut cut, SeededRandom& random) const {
    switch (cut) {
      case Cut::synced:
      case Cut::names:
        return synced;
      case Cut::zeros: {
        std::string out = synced;
        out.resize(data.size());
        return out;
      }
      case Cut::torn:
        return torn();
      case Cut::sectors:
        return some_sectors(random);
      case Cut::nothing:
        return data;
    }
    return data;
  }
};

DiskModel::DiskModel() : root_(std::make_shared<Node>()) { root_->directory = true; }
DiskModel::~DiskModel() = default;
DiskModel::DiskModel(const DiskModel& other) {
  std::map<const Node*, NodePointer> copies;
  root_ = copy(other.root_, copies);
}

DiskModel::NodePointer DiskModel::copy(const NodePointer& node, std::map<const Node*, NodePointer>& copies) {
  NodePointer& made = copies[node.get()];
  if (made != nullptr) return made;
  made = std::make_shared<Node>(*node);
  const NodePointer out = made;
  for (auto* names : {&out->now, &out->lasting}) {
    for (auto& [name, child] : *names) child = copy(child, copies);
  }
  return out;
}

DiskModel::NodePointer DiskModel::find(std::string_view path) const {
  NodePointer node = root_;
  while (node != nullptr && !path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const auto it = node->now.find(std::string(path.substr(0, slash)));
    node = it == node->now.end() ? nullptr : it->second;
    path.remove_prefix(std::min(path.size(), slash + 1));
  }
  return node;
}

std::pair<DiskModel::NodePointer, std::string> DiskModel::parent(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  NodePointer directory = find(slash == std::string_view::npos ? "" : path.substr(0, slash));
  WEIR_CHECK(directory != nullptr && directory->directory);
  return {std::move(directory), std::string(slash == std::string_view::npos ? path : path.substr(slash + 1))};
}

void DiskModel::apply(const DiskEvent& event) {
  const auto need = [&] {
    NodePointer node = find(event.path);
    WEIR_CHECK(node != nullptr);
    return node;
  };
  switch (event.kind) {
    case Kind::create:
    case Kind::make_directory: {
      const auto [directory, name] = parent(event.path);
      directory->now[name] = std::make_shared<Node>();
      directory->now[name]->directory = event.kind == Kind::make_directory;
      return;
    }
    case Kind::write:
      return need()->change({false, event.offset, event.bytes});
    case Kind::truncate:
      return need()->change({true, event.offset, {}});
    case Kind::sync: {
      const NodePointer node = need();
      node->synced = node->data;
      node->unsynced.clear();
      return;
    }
    case Kind::remove: {
      const auto [directory, name] = parent(event.path);
      WEIR_CHECK(directory->now.erase(name) == 1);
      return;
    }
    case Kind::rename: {
      const NodePointer node = need();
      const auto [from, old_name] = parent(event.path);
      const auto [to, new_name] = parent(event.bytes);
      from->now.erase(old_name);
      to->now[new_name] = node;
      return;
    }
    case Kind::sync_directory: {
      const NodePointer node = need();
      node->lasting = node->now;
      return;
    }
    case Kind::acknowledge:
      return;
  }
}

DiskModel::Image DiskModel::after(Cut cut, SeededRandom& random) const {
  const bool lasting = cut == Cut::synced || (cut == Cut::sectors && random.next() % 2 == 0);
  Image image;
  const auto visit = [&](const auto& self, const Node& directory, const std::string& path) -> void {
    for (const auto& [name, child] : lasting ? directory.lasting : directory.now) {
      if (child->directory) {
        image[path + name] = std::nullopt;
        self(self, *child, path + name + "/");
      } else {
        image[path + name] = child->after(cut, random);
      }
    }
  };
  visit(visit, *root_, "");
  return image;
}

void DiskModel::write_out(const Image& image, const std::string& directory) {
  for (const auto& [path, bytes] : image) {
    if (bytes) {
      write_file(directory + "/" + path, *bytes);
    } else {
      std::filesystem::create_directories(directory + "/" + path);
    }
  }
}

}  // namespace weir::testing
