#include "service/compile_settings.h"

#include "base/limits.h"

namespace weir {
namespace {

Error wrong(const Config& config, std::string_view key, std::string why) {
  return Error(ErrorCode::INVALID_FIELD, config.entry(key).origin + ": " + std::string(key) + ": " + why)
      .with_fields({{std::string(key), std::move(why)}});
}

}  // namespace

Result<ctree::NodesFold::Options> nodes_options(Files& files, const Config& config) {
  ctree::NodesFold::Options out;
  out.sanitise = {config.texts("compile.secret_keys"), config.texts("compile.volatile_keys")};
  out.key_id = config.text("compile.hash_key_id");
  const std::string& file = config.text("compile.hash_key_file");
  if (out.key_id.empty() && file.empty()) return out;
  if (out.key_id.empty()) return wrong(config, "compile.hash_key_file", "needs compile.hash_key_id, the key's name");
  if (file.empty()) return wrong(config, "compile.hash_key_id", "needs compile.hash_key_file, the file that holds the key");
  auto key = files.read(file, limits::kMiB);
  if (!key.ok()) return wrong(config, "compile.hash_key_file", "cannot be read: " + key.error().message());
  out.key = std::move(key).value();
  while (out.key.ends_with('\n') || out.key.ends_with('\r')) out.key.pop_back();
  if (out.key.empty()) return wrong(config, "compile.hash_key_file", "the file holds no key");
  return out;
}

}  // namespace weir
