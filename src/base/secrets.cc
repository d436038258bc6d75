#include "base/secrets.h"

#include <re2/re2.h>

#include <algorithm>
#include <atomic>

#include "base/literals.h"
#include "base/utf8.h"

namespace weir {
namespace {

constexpr SecretFamily kFamilies[] = {
    {"openai_key", R"(\bsk-[A-Za-z0-9]{20,})", false},
    {"openai_scoped", R"(\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,})", false},
    {"anthropic_key", R"(\bsk-ant-[A-Za-z0-9_-]{20,})", false},
    {"openrouter_key", R"(\bsk-or-v1-[A-Za-z0-9]{20,})", false},
    {"xai_groq_key", R"(\b(?:xai-|gsk_)[A-Za-z0-9]{32,})", false},
    {"github_token", R"(\bgh[opsur]_[A-Za-z0-9]{36,})", false},
    {"github_pat", R"(\bgithub_pat_[A-Za-z0-9_]{22,})", false},
    {"gitlab_token", R"(\bgl(?:pat|ptt|rt|soat)-[A-Za-z0-9_-]{20,})", false},
    {"slack_token", R"(\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})", false},
    {"slack_webhook", R"(https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,})", false},
    {"aws_access_id", R"(\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b)", false},
    {"aws_secret", R"re((?i)aws_?secret_?(?:access_?)?key\\?["']?\s*[:=]\s*\\?["']?([A-Za-z0-9/+=]{40}))re", false},
    {"google_api_key", R"(\bAIza[A-Za-z0-9_-]{35})", false},
    {"google_oauth", R"(\b(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,})", false},
    {"azure_storage", R"((?i)\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2}))", false},
    {"stripe_key", R"(\b(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,})", false},
    {"npm_token", R"(\bnpm_[A-Za-z0-9]{36})", false},
    {"pypi_token", R"(\bpypi-[A-Za-z0-9_-]{32,})", false},
    {"huggingface", R"(\bhf_[A-Za-z0-9]{30,})", false},
    {"sendgrid_key", R"(\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", false},
    {"twilio_key", R"(\bSK[0-9a-f]{32}\b)", false},
    {"telegram_bot", R"(\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33})", false},
    {"digitalocean", R"(\bdo[opr]_v1_[0-9a-f]{64})", false},
    {"age_key", R"(\bAGE-SECRET-KEY-1[0-9A-Z]{58})", false},
    {"jwt", R"(\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})", false},
    {"pem_private", R"((?is)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z))",
     false},
    {"bearer", R"((?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,}))", true},
    {"auth_header", R"re((?i)\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:basic\s+|token\s+)?([^\s"'\\,;]{12,}))re", true},
    {"cookie", R"((?i)\b(?:set-)?cookie:\s*([^\r\n]{8,}))", true},
    {"url_password", R"((?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/:@]{3,})@)", false},
    {"key_value",
     R"re((?i)(?:api[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd|pwd)\\?["']?\s*[:=]\s*\\?["']?([^\s"'\\,;(){}<>$]{8,}))re",
     true},
};
static_assert(std::size(kFamilies) == 31);

// A text can match a family only if it holds, in any case, one of the family's literals. Most text holds none, so one
// pass over the bytes replaces 31 searches.
struct Trigger {
  std::string_view literal;  // lower case
  std::string_view family;
};
constexpr Trigger kTriggers[] = {
    {"sk-", "openai_key"},
    {"sk-proj-", "openai_scoped"},
    {"sk-svcacct-", "openai_scoped"},
    {"sk-admin-", "openai_scoped"},
    {"sk-ant-", "anthropic_key"},
    {"sk-or-v1-", "openrouter_key"},
    {"xai-", "xai_groq_key"},
    {"gsk_", "xai_groq_key"},
    {"gho_", "github_token"},
    {"ghp_", "github_token"},
    {"ghs_", "github_token"},
    {"ghu_", "github_token"},
    {"ghr_", "github_token"},
    {"github_pat_", "github_pat"},
    {"glpat-", "gitlab_token"},
    {"glptt-", "gitlab_token"},
    {"glrt-", "gitlab_token"},
    {"glsoat-", "gitlab_token"},
    {"xox", "slack_token"},
    {"xapp-", "slack_token"},
    {"hooks.slack.com/", "slack_webhook"},
    {"akia", "aws_access_id"},
    {"asia", "aws_access_id"},
    {"abia", "aws_access_id"},
    {"acca", "aws_access_id"},
    {"awssecret", "aws_secret"},
    {"aws_secret", "aws_secret"},
    {"aiza", "google_api_key"},
    {"ya29.", "google_oauth"},
    {"gocspx-", "google_oauth"},
    {"accountkey=", "azure_storage"},
    {"sharedaccesskey=", "azure_storage"},
    {"k_live_", "stripe_key"},
    {"k_test_", "stripe_key"},
    {"whsec_", "stripe_key"},
    {"npm_", "npm_token"},
    {"pypi-", "pypi_token"},
    {"hf_", "huggingface"},
    {"sg.", "sendgrid_key"},
    {"sk0", "twilio_key"},
    {"sk1", "twilio_key"},
    {"sk2", "twilio_key"},
    {"sk3", "twilio_key"},
    {"sk4", "twilio_key"},
    {"sk5", "twilio_key"},
    {"sk6", "twilio_key"},
    {"sk7", "twilio_key"},
    {"sk8", "twilio_key"},
    {"sk9", "twilio_key"},
    {"ska", "twilio_key"},
    {"skb", "twilio_key"},
    {"skc", "twilio_key"},
    {"skd", "twilio_key"},
    {"ske", "twilio_key"},
    {"skf", "twilio_key"},
    {":aa", "telegram_bot"},
    {"_v1_", "digitalocean"},
    {"age-secret-key-1", "age_key"},
    {"eyj", "jwt"},
    {"-----begin ", "pem_private"},
    {"bearer", "bearer"},
    {"authorization", "auth_header"},
    {"cookie:", "cookie"},
    {"://", "url_password"},
    {"apikey", "key_value"},
    {"api_key", "key_value"},
    {"api-key", "key_value"},
    {"authtoken", "key_value"},
    {"auth_token", "key_value"},
    {"auth-token", "key_value"},
    {"accesstoken", "key_value"},
    {"access_token", "key_value"},
    {"access-token", "key_value"},
    {"refreshtoken", "key_value"},
    {"refresh_token", "key_value"},
    {"refresh-token", "key_value"},
    {"clientsecret", "key_value"},
    {"client_secret", "key_value"},
    {"client-secret", "key_value"},
    {"secretkey", "key_value"},
    {"secret_key", "key_value"},
    {"secret-key", "key_value"},
    {"password", "key_value"},
    {"passwd", "key_value"},
    {"pwd", "key_value"},
};

// RE2 folds these two to s and k where case does not matter, so a text that holds one is searched for everything.
constexpr std::string_view kFoldingLetters[] = {"\xc5\xbf", "\xe2\x84\xaa"};

constexpr std::string_view kSecretKeys[] = {
    "apikey",     "xapikey",     "openaiapikey", "openrouterapikey", "anthropicapikey", "authorization", "proxyauthorization",
    "token",      "accesstoken", "refreshtoken", "idtoken",          "authtoken",       "sessiontoken",  "bearertoken",
    "password",   "passwd",      "passphrase",   "secret",           "secretkey",       "clientsecret",  "awssecretaccesskey",
    "privatekey", "cookie",      "setcookie",    "credential",       "credentials",
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// The key in lower case without - _ . and space: the form the key table is in. At most `most` characters of it.
std::string bare_key(std::string_view key, std::size_t most = std::string::npos) {
  std::string bare;
  for (const char c : key) {
    if (bare.size() == most) break;
    if (c != '-' && c != '_' && c != '.' && c != ' ') bare += lower(c);
  }
  return bare;
}

bool letter_and_digit(std::string_view span) {
  const bool letter = std::any_of(span.begin(), span.end(), [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; });
  return letter && std::any_of(span.begin(), span.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "://" stands in every link; only one with a colon before the next slash, at sign or white space can hold a password.
bool url_may_hold_password(std::string_view after) {
  const std::size_t stop = after.find_first_of("/:@ \t\n\f\r");
  return stop != std::string_view::npos && after[stop] == ':';
}

struct Span {
  std::size_t begin, end;
};

// The span grown to all of every mark it cuts. A user's own pattern may match a part of one; without this each round
// would mask its own marks and never end.
Span with_whole_marks(Span span, std::string_view text) {
  constexpr std::size_t kSize = kRedacted.size();
  // Does a mark begin before `border` and end after it? Where it begins, else `border`.
  const auto mark_across = [&](std::size_t border) {
    const std::size_t from = border < kSize ? 0 : border - kSize + 1;
    const std::size_t found = text.substr(from, border - from + kSize - 1).find(kRedacted);
    return found == std::string_view::npos ? border : from + found;
  };
  for (std::size_t mark; (mark = mark_across(span.begin)) < span.begin;) span.begin = mark;
  for (std::size_t mark; (mark = mark_across(span.end)) < span.end;) span.end = mark + kSize;
  return span;
}

// Sorted spans grown to the white space on both sides; those of one word become one.
std::vector<Span> whole_words(const std::vector<Span>& spans, std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\f\r";
  std::vector<Span> words;
  for (const Span& span : spans) {
    if (!words.empty() && span.end <= words.back().end) continue;
    const std::size_t before = span.begin == 0 ? std::string_view::npos : text.find_last_of(kSpace, span.begin - 1);
    words.push_back({before == std::string_view::npos ? 0 : before + 1, std::min(text.find_first_of(kSpace, span.end), text.size())});
  }
  return words;
}

}  // namespace

std::span<const SecretFamily> secret_families() { return kFamilies; }

constexpr std::size_t kEveryFamily = SIZE_MAX;
constexpr int kRoundsBySpan = 16;
constexpr std::size_t kShortestMatch = 9;  // of the 31 families, that of url_password: a://:abc@

struct Masker::Rules {
  struct Family {
    std::string name;
    std::unique_ptr<re2::RE2> pattern;
    bool mixed;
    bool always;  // no trigger is known: searched every time
  };
  std::vector<Family> families;
  LiteralSet triggers;
  std::vector<std::size_t> trigger_family;  // literal -> family, or kEveryFamily
  std::size_t url_family = kEveryFamily - 1;
  std::vector<std::string> keys;  // sorted
  std::size_t shortest_key = SIZE_MAX, longest_key = 0;
  std::size_t shortest_text = kShortestMatch;  // no secret in a shorter one

  void find(std::size_t family, std::string_view text, std::vector<Span>& spans, MaskCounts& counts) const;
  std::vector<Span> find_all(std::string_view text, MaskCounts& counts) const;
};

Result<Masker> Masker::make(const Options& options) {
  auto rules = std::make_shared<Rules>();
  re2::RE2::Options re2_options(re2::RE2::Quiet);
  std::vector<FieldError> errors;
  const auto add = [&](std::string name, std::string_view pattern, bool mixed, bool always) {
    auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), re2_options);
    if (!compiled->ok()) {
      errors.push_back({"/mask/extra", "pattern of '" + name + "': " + compiled->error()});
      return;
    }
    rules->families.push_back({std::move(name), std::move(compiled), mixed, always});
  };
  for (const std::string& name : options.off) {
    if (std::none_of(std::begin(kFamilies), std::end(kFamilies), [&](const SecretFamily& f) { return f.name == name; })) {
      errors.push_back({"/mask/off", "no family of secrets is called '" + name + "'"});
    }
  }
  for (const SecretFamily& family : kFamilies) {
    if (std::find(options.off.begin(), options.off.end(), family.name) != options.off.end()) continue;
    add(std::string(family.name), family.pattern, family.mixed, false);
  }
  std::vector<std::string_view> literals;
  for (const Trigger& trigger : kTriggers) {
    const auto family =
        std::find_if(rules->families.begin(), rules->families.end(), [&](const auto& f) { return f.name == trigger.family; });
    if (family == rules->families.end()) continue;
    literals.push_back(trigger.literal);
    rules->trigger_family.push_back(static_cast<std::size_t>(family - rules->families.begin()));
    if (trigger.family == "url_password") rules->url_family = rules->trigger_family.back();
  }
  for (const std::string_view letter : kFoldingLetters) {
    literals.push_back(letter);
    rules->trigger_family.push_back(kEveryFamily);
  }
  rules->triggers = LiteralSet(literals);
  for (const Extra& extra : options.extra) add(extra.name, extra.pattern, false, true);
  if (!options.extra.empty()) rules->shortest_text = 1;
  if (!errors.empty()) return Error(ErrorCode::INVALID_FIELD, errors[0].message).with_fields(errors);

  rules->keys.assign(std::begin(kSecretKeys), std::end(kSecretKeys));
  for (const std::string& key : options.secret_keys) {
    if (std::string bare = bare_key(key); !bare.empty()) rules->keys.push_back(std::move(bare));
  }
  std::sort(rules->keys.begin(), rules->keys.end());
  for (const std::string& key : rules->keys) {
    rules->shortest_key = std::min(rules->shortest_key, key.size());
    rules->longest_key = std::max(rules->longest_key, key.size());
  }

  Masker masker;
  masker.enabled_ = options.enabled;
  masker.rules_ = std::move(rules);
  return masker;
}

const Masker& Masker::standard() {
  static const Masker masker = *make({});
  return masker;
}

namespace {

// Replaced at most a few times in a process, and never freed: messages may be masked in any thread.
std::atomic<const Masker*> message_rules{nullptr};

}  // namespace

const Masker& message_masker() {
  const Masker* rules = message_rules.load(std::memory_order_acquire);
  return rules == nullptr ? Masker::standard() : *rules;
}

void mask_messages_also(const std::vector<Masker::Extra>& extra) {
  if (extra.empty()) return;
  auto masker = Masker::make({.extra = extra});
  if (masker.ok()) message_rules.store(new Masker(std::move(masker).value()), std::memory_order_release);
}

std::string masked_excerpt(std::string_view text, std::size_t count) {
  MaskCounts ignored;
  const auto masked = message_masker().mask(text, ignored);
  return excerpt(masked ? std::string_view(*masked) : text, count);
}

bool Masker::secret_key(std::string_view key) const {
  if (key.size() < rules_->shortest_key) return false;
  const std::string bare = bare_key(key, rules_->longest_key + 1);
  return std::binary_search(rules_->keys.begin(), rules_->keys.end(), bare);
}

void Masker::Rules::find(std::size_t index, std::string_view text, std::vector<Span>& spans, MaskCounts& counts) const {
  const Family& family = families[index];
  const int groups = std::min(family.pattern->NumberOfCapturingGroups(), 1);
  re2::StringPiece match[2];
  std::size_t from = 0;
  while (from <= text.size() &&
         family.pattern->Match(re2::StringPiece(text.data(), text.size()), from, text.size(), re2::RE2::UNANCHORED, match, groups + 1)) {
    const std::size_t match_end = static_cast<std::size_t>(match[0].data() - text.data()) + match[0].size();
    const std::size_t begin = static_cast<std::size_t>(match[groups].data() - text.data());
    const std::string_view span = text.substr(begin, match[groups].size());
    if (!span.empty() && (!family.mixed || letter_and_digit(span))) {
      const Span whole = with_whole_marks({begin, begin + span.size()}, text);
      if (text.substr(whole.begin, whole.end - whole.begin) != kRedacted) {
        spans.push_back(whole);
        ++counts[family.name];
      }
    }
    from = match_end > from ? match_end : from + 1;
  }
}

std::vector<Span> Masker::Rules::find_all(std::string_view text, MaskCounts& counts) const {
  std::vector<bool> wanted;  // made when the first literal is met: most text meets none
  bool everything = false;
  triggers.scan(text, [&](std::size_t literal, std::size_t end) {
    const std::size_t family = trigger_family[literal];
    if (family == kEveryFamily) {
      everything = true;
    } else if (family != url_family || url_may_hold_password(text.substr(end))) {
      wanted.resize(families.size());
      wanted[family] = true;
    }
  });
  std::vector<Span> spans;
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].always || everything || (!wanted.empty() && wanted[i])) find(i, text, spans, counts);
  }
  std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin < b.begin; });
  return spans;
}

std::optional<std::string> Masker::mask(std::string_view text, MaskCounts& counts) const {
  if (!enabled_ || text.size() < rules_->shortest_text) return std::nullopt;
  std::vector<Span> spans = rules_->find_all(text, counts);
  if (spans.empty()) return std::nullopt;
  std::string masked(text);
  // A mark ends a word, so a secret that stood glued to another one shows itself only in the next round. Each round
  // takes away characters that are no mark, or marks, so there is a last one. A long chain would make as many rounds as
  // it has links: after the first few the whole word goes.
  for (int round = 1; !spans.empty(); ++round) {
    if (round > kRoundsBySpan) spans = whole_words(spans, masked);
    std::string next;
    std::size_t done = 0;
    for (std::size_t i = 0; i < spans.size();) {
      std::size_t end = spans[i].end, j = i + 1;
      while (j < spans.size() && spans[j].begin < end) end = std::max(end, spans[j++].end);
      next.append(masked, done, spans[i].begin - done).append(kRedacted);
      done = end;
      i = j;
    }
    next.append(masked, done, std::string::npos);
    masked = std::move(next);
    spans = rules_->find_all(masked, counts);
  }
  return masked;
}

}  // namespace weir
