// Masking any text, and any JSON value: once is enough, and no family of the table matches what comes out.
#include <string>
#include <vector>

#include "base/secrets.h"
#include "fuzz.h"
#include "json/canonical.h"
#include "json/mask.h"
#include "json/parse.h"
#include "testing/secret_oracle.h"
#include "testing/secret_samples.h"

namespace weir {
namespace {

// A corpus may hold no secret. The byte 1 and another one stand for a made-up secret, which is put in here.
std::string with_secrets(std::string_view text) {
  static const std::vector<testing::SecretSample> samples = testing::secret_samples();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\1' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const auto choice = static_cast<unsigned char>(text[++i]);
    const testing::SecretSample& sample = samples[choice % samples.size()];
    out += choice >= samples.size() ? sample.text() : sample.secret;
  }
  return out;
}

void check_text(std::string_view text) {
  static const testing::SecretOracle oracle;
  MaskCounts counts, more;
  const std::string once = Masker::standard().mask(text, counts).value_or(std::string(text));
  fuzz::expect_equal("masked twice", once, Masker::standard().mask(once, more).value_or(once));
  for (const auto& [begin, end] : oracle.find(once)) fuzz::expect_equal("a family still matches", once, once.substr(begin, end - begin));
}

void check_value(std::string_view text) {
  json::Parser parser, again;
  const auto value = parser.parse(text);
  if (!value.ok()) return;
  json::Arena arena;
  MaskCounts counts, more;
  const std::string once = json::canonical(json::mask(*value, Masker::standard(), arena, counts));
  const auto back = again.parse(once);
  fuzz::expect_equal("a masked value is no JSON", once, back.ok() ? once : back.error().message());
  fuzz::expect_equal("a value masked twice", once, json::canonical(json::mask(*back, Masker::standard(), arena, more)));
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = weir::with_secrets(weir::fuzz::text_of(data, size));
  weir::check_text(text);
  weir::check_value(text);
  return 0;
}
