#include "service/read_source.h"

#include <algorithm>

#include "base/open_beneath.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "readcache/open_request.h"
#include "service/render.h"

namespace weir {
namespace {

std::string canonical_store(const std::string& store) {
  if (store.empty()) return {};
  const Opening place = locate(store);
  return place.error == 0 ? name_of(place.fd) : store;
}

Error denied_error(const std::string& path) {
  return Error(ErrorCode::DENIED_BY_POLICY, "'" + masked_text(path) + "' is on the deny list");
}

// Where reading is allowed, for whoever asked for something else.
Error with_roots(Error error, const std::vector<std::string>& roots, std::string_view help) {
  std::string shown;
  for (const std::string& root : roots) shown += (shown.empty() ? "" : ":") + root;
  return std::move(error).with("roots", roots.empty() ? "none" : shown).with("help", std::string(help));
}

bool is_within(std::string_view path, const std::vector<std::string>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return directory == "/" || (path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/');
  });
}

Error outside_client_roots(std::string_view path, const std::vector<std::string>& roots) {
  const std::string shown = masked_text(as_utf8(path));
  return with_roots(Error(ErrorCode::OUTSIDE_ROOTS, "'" + shown + "' is outside the client's roots").with("path", shown), roots,
                    "the client named these roots");
}

}  // namespace

CurrentFile ReadText::current() const {
  return {.path = path,
          .name = name,
          .given = request.given,
          .version = version.hex(),
          .bytes = bytes,
          .total = total,
          .text = text.get(),
          .baseline = baseline.text,
          .window = baseline.window};
}

Result<std::unique_ptr<ReadSource>> ReadSource::open(ReadOptions options, const std::string& store, const std::vector<std::string>& own) {
  TRY(ReadDoor door, ReadDoor::make(options.roots, {.refuse_hard_links = options.refuse_hard_links}));
  std::vector<std::string> places;
  for (const std::string& path : own) places.push_back(follow_links(path));
  DenyList deny(options.deny, canonical_store(store), std::move(places));
  return std::unique_ptr<ReadSource>(new ReadSource(std::move(options), std::move(door), std::move(deny)));
}

Result<ReadFile> ReadSource::read(std::string_view given, const LineRequest& lines, const PathContext& context, const Masker& masker,
                                  const std::vector<std::string>* within) const {
  auto requested = open_request(door_, given, lines, context);
  if (!requested.ok() && requested.error().code() == ErrorCode::OUTSIDE_ROOTS)
    return with_roots(std::move(requested).error(), options_.roots, "--root DIR allows another directory");
  TRY(OpenedRequest opened, std::move(requested));
  // The kernel has said what was opened; that name is compared, never the one that was asked for.
  if (within != nullptr && !is_within(opened.file.path, *within)) return outside_client_roots(opened.file.path, *within);
  const bool denied = deny_.denies(opened.file.path);
  if (denied && options_.refuse_denied) return denied_error(opened.file.path);
  const ContentLimits limits{options_.max_file_bytes, denied ? 0 : options_.store_max_bytes, options_.answer.max_bytes};
  TRY(FileContent content, read_content(*opened.file.file, opened.file.stat.size, opened.request.lines, limits));
  const std::string name = as_utf8(absolute_path(opened.request.given, context));
  if (const auto* other = std::get_if<NotText>(&content))
    return ReadFile(ReadOther{as_utf8(opened.file.path), name, other->mime, other->bytes});

  auto& read = std::get<TextContent>(content);
  ReadText out;
  out.path = std::move(opened.file.path);
  out.name = name;
  out.version = read.version;
  out.bytes = read.bytes;
  out.total = static_cast<LineNo>(read.selection.total_lines);
  out.lines = {static_cast<LineNo>(read.selection.start), static_cast<LineNo>(read.selection.end)};
  opened.request.given = as_utf8(opened.request.given);
  out.baseline = make_baseline(std::move(read.selection), options_.answer, opened.request.given);
  out.request = std::move(opened.request);
  if (read.text) out.text = std::make_unique<VersionText>(std::move(*read.text));
  MaskCounts found;
  if (denied) {
    out.untraced_reason = "denied_path";
  } else if (masker.mask(out.path, found) || masker.mask(out.name, found)) {
    out.untraced_reason = "secret_in_path";
  } else if (opened.file.deleted) {
    out.untraced_reason = "deleted";
  } else if (!valid_utf8(out.path)) {
    out.untraced_reason = "path_not_utf8";
  }
  out.path = as_utf8(out.path);
  return ReadFile(std::move(out));
}

std::string ReadSource::place_of(const std::string& path, const std::vector<std::string>* within) const {
  std::string place = follow_links(path);
  const bool inside = door_.contains(place) && (within == nullptr || is_within(place, *within));
  return inside ? place : clean_path(path);
}

Result<Digest> ReadSource::version_of(const std::string& path, const std::vector<std::string>* within) const {
  if (deny_.denies(path)) return denied_error(path);
  TRY(const OpenedFile opened, door_.open(path));
  if (within != nullptr && !is_within(opened.path, *within)) return outside_client_roots(opened.path, *within);
  if (deny_.denies(opened.path)) return denied_error(opened.path);
  TRY(const FileContent content, read_content(*opened.file, opened.stat.size, {}, {options_.max_file_bytes, 0, options_.answer.max_bytes}));
  const auto* text = std::get_if<TextContent>(&content);
  return text == nullptr ? Digest() : text->version;
}

}  // namespace weir
