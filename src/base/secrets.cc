#include "base/secrets.h"

#include <re2/re2.h>

#include <algorithm>
#include <atomic>

#include "base/literals.h"
#include "base/secret_rules.h"
#include "base/utf8.h"

namespace weir {
namespace {

// Parts of the patterns, written once; a later one may hold an earlier one. Text reaches a log through JSON, URLs and
// terminals, often through several of them, so what ends a word and what stands between a name and its value is looked
// for as itself and at every depth of quoting: a newline is also \n, \\n, \u000a, %0A or %250A.
struct Part {
  std::string_view name, pattern;
};
constexpr Part kParts[] = {
    // The escape character, and what programs write for it.
    {"esc", R"((?:\x1b|\\+(?:e|033|x1[Bb]|u001[Bb])|%(?:25)*1[Bb]))"},
    // A terminal sequence as ECMA-48 has it: parameters, intermediates, a final byte. Some programs take its first character away, or
    // show it as ^[; then only what is common counts as one.
    {"csi",
     R"((?:(?:{esc}(?:\[|%(?:25)*5[Bb])|\x{9b}|\\+(?:x|u00)9[Bb]|%(?:25)*(?:[Cc]2%(?:25)*)?9[Bb])(?:[0-?]|%(?:25)*3[0-9A-Fa-f])*[ -/]*[@-~]|(?:\[|%(?:25)*5[Bb])(?:(?:[0-9;:?]|%(?:25)*3[ABab])+[A-Za-z]|[Km])|{esc}[ -/]*[0-~]))"},
    {"backslash", R"((?:\\|%(?:25)*5[Cc]|u005[Cc]))"},
    // Where a word may begin: no letter or digit stands before it, or one that belongs to an escape.
    {"word",
     R"((?:\b|_|{backslash}(?:[abefnrtv]|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|%(?:25)*(?:[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|=[0-9A-F]{2}|\^[A-Z]|{csi}))"},
    // White space; then what may stand between a name and its value.
    {"blank", R"((?:\s|\\+(?:[fnrt]|u00(?:0[9ADad]|20))|%(?:25)*(?:0[9ADad]|20)|{csi}))"},
    {"quote", R"((?:\\*["']|\\+u002[27]|%(?:25)*2[27]))"},
    {"equals", R"((?:=|\\+u003[Dd]|%(?:25)*3[Dd]))"},
    {"colon", R"((?::|\\+u003[Aa]|%(?:25)*3[Aa]))"},
    {"dot", R"((?:\.|\\+u002[Ee]|%(?:25)*2[Ee]))"},
    {"at", R"((?:@|\\+u0040|%(?:25)*40))"},
    {"slash", R"((?:\\*/|\\+u002[Ff]|%(?:25)*2[Ff]))"},
    {"is", R"({quote}?{blank}*(?:{equals}|{colon}){blank}*{quote}?{csi}*)"},
    // An escaped character that is part of a value and not its end.
    {"kept", R"(\\+(?:[^\s"'\\A-Za-z0-9,;(){}<>$\x1b]|u00(?:26|2[BFbf]|3[Dd])))"},
    {"octal", R"(\\+(?:0[4-7][0-7]|1[0-7]{2}))"},
    {"base64", R"([A-Za-z0-9/+]|\\+(?:/|u002[BFbf])|%(?:25)*2[BFbf])"},
    // What may stand in quotes within a value. In JSON a string ends before white space or one of ,:]}, so that is no beginning.
    {"quoted", R"([^\s",:;\]}\\][^"\\\r\n]*)"},
    // The lines of a private key.
    {"space", R"((?:[ +]|%(?:25)*20))"},
    {"key", R"({space}(?:[A-Z0-9]|{space})*PRIVATE{space}KEY(?:{space}BLOCK)?-----)"},
    {"gap", R"((?:\s|\\+[nrt])*)"},
    // What a private key may hold without leaving the JSON string it begins in: code joins strings, JSON does not.
    {"inside", R"([^"\\]|\\+[^"\\]|\\*"{gap}[^\s"\\,:\]}]|"{gap}"|\\"{gap}\\"|\\{3}"{gap}\\{3}"|\\{7}"{gap}\\{7}")"},
    // From one string of a JSON array to the next: a key as a list of lines.
    {"next", R"("{gap},{gap}"|\\"{gap},{gap}\\"|\\{3}"{gap},{gap}\\{3}"|\\{7}"{gap},{gap}\\{7}")"},
};

// Most begin as nothing else does, whatever stands before them; a word must begin where other words end in what they begin with.
constexpr SecretFamily kFamilies[] = {
    {"openai_key", R"({word}(sk-[A-Za-z0-9]{20,}))", false},
    {"openai_scoped", R"({word}(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}))", false},
    {"anthropic_key", R"((sk-ant-[A-Za-z0-9_-]{20,}))", false},
    {"openrouter_key", R"((sk-or-v1-[A-Za-z0-9]{20,}))", false},
    {"xai_groq_key", R"(((?:xai-|gsk_)[A-Za-z0-9]{32,}))", false},
    {"github_token", R"((gh[opsur]_[A-Za-z0-9]{36,}))", false},
    {"github_pat", R"((github_pat_[A-Za-z0-9_]{22,}))", false},
    {"gitlab_token", R"((gl(?:pat|ptt|rt|soat)-[A-Za-z0-9_-]{20,}))", false},
    {"slack_token", R"({word}((?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}))", false},
    {"slack_webhook", R"(https{colon}{slash}{slash}hooks\.slack\.com{slash}(?:services|workflows){slash}(?:[A-Za-z0-9_-]|{slash}){20,})",
     false},
    {"aws_access_id", R"({word}((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:\b|[_a-z]))", false},
    {"aws_secret", R"((?i)aws_?secret_?(?:access_?)?key{is}((?:{base64}|{equals}){40}))", false},
    {"google_api_key", R"((AIza[A-Za-z0-9_-]{35}))", false},
    {"google_oauth", R"(((?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}))", false},
    {"azure_storage", R"((?i)(?:AccountKey|SharedAccessKey){equals}((?:{base64}){40,}{equals}{0,2}))", false},
    {"stripe_key", R"({word}((?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}))", false},
    {"npm_token", R"((npm_[A-Za-z0-9]{36}))", false},
    {"pypi_token", R"((pypi-[A-Za-z0-9_-]{32,}))", false},
    {"huggingface", R"((hf_[A-Za-z0-9]{30,}))", false},
    {"sendgrid_key", R"({word}(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}))", false},
    {"twilio_key", R"({word}(SK[0-9a-f]{32})(?:\b|[_A-Zg-z]))", false},
    {"telegram_bot", R"(([0-9]{8,10}{colon}AA[A-Za-z0-9_-]{33}))", false},
    {"digitalocean", R"((do[opr]_v1_[0-9a-f]{64}))", false},
    {"age_key", R"((AGE-SECRET-KEY-1[0-9A-Z]{58}))", false},
    {"jwt", R"((eyJ[A-Za-z0-9_-]{8,}{dot}eyJ[A-Za-z0-9_-]{8,}{dot}[A-Za-z0-9_-]{8,}))", false},
    {"pem_private", R"((?i)-----BEGIN{key}(?:(?:{inside}|{next})*?-----END{key}|(?:{inside}|{next})*\z|(?:{inside})*))", false},
    {"bearer", R"((?i)bearer(?:{blank}|\+)+((?:[A-Za-z0-9._~+/=-]|{kept}){16,}))", true},
    {"auth_header", R"((?i)authorization{is}(?:basic{blank}+|token{blank}+)?((?:[^\s"'\\,;\x1b]|{kept}){12,}))", true},
    {"cookie",
     R"((?i){word}(?:set-)?cookie{colon}{blank}*((?:[^\r\n"\\]|{kept}|{esc}|{octal}|\\+[ft]|"(?:{quoted})?"|\\"(?:{quoted})?\\"|\\{3}"(?:{quoted})?\\{3}"|\\{7}"(?:{quoted})?\\{7}"){8,}))",
     true},
    {"url_password", R"((?i)[a-z][a-z0-9+.-]*{colon}{slash}{slash}[^\s/:@"\\]*?{colon}([^\s/:@"\\]{3,}?){at})", false},
    {"key_value",
     R"((?i)(?:api[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd|pwd){is}((?:[^\s"'\\,;(){}<>$\x1b]|{kept}){8,}))",
     true},
};
static_assert(std::size(kFamilies) == 31);

// The patterns above stop where a quoted text may end, so that JSON within a text stays JSON. What is not quoted may hold such places
// itself: the password of a URL a %40, a cookie quotes of its own, a key whatever stands before its end. So these are searched for as
// well. A line with no quote before the secret is not quoted.
struct Unquoted {
  std::string_view family, pattern;
};
constexpr Unquoted kUnquoted[] = {
    {"pem_private", R"((?is)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)"},
    {"pem_private",
     R"((?im)^[^"\r\n]*?(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)))"},
    {"cookie", R"((?im)^(?:[^"\r\n]*?{word})?(?:set-)?cookie:{blank}*((?:[^\r\n\\]|{kept}|{esc}|{octal}|\\+[ft]){8,}))"},
    {"url_password",
     R"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"\\]*:((?:[^\s/:@"\\]|\\[^\s"\\/bfnrtu]|"[^\s/:@",\\]+"){3,}|"[^\s/:@",\\]{3,}")@)"},
};

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
    {"hooks.slack.com", "slack_webhook"},
    {"akia", "aws_access_id"},
    {"asia", "aws_access_id"},
    {"abia", "aws_access_id"},
    {"acca", "aws_access_id"},
    {"awssecret", "aws_secret"},
    {"aws_secret", "aws_secret"},
    {"aiza", "google_api_key"},
    {"ya29.", "google_oauth"},
    {"gocspx-", "google_oauth"},
    {"accountkey", "azure_storage"},
    {"sharedaccesskey", "azure_storage"},
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
    {"3aaa", "telegram_bot"},
    {"_v1_", "digitalocean"},
    {"age-secret-key-1", "age_key"},
    {"eyj", "jwt"},
    {"-----begin", "pem_private"},
    {"bearer", "bearer"},
    {"authorization", "auth_header"},
    {"cookie", "cookie"},
    {"://", "url_password"},
    {"\\/\\", "url_password"},
    {"2f%", "url_password"},
    {"u002f", "url_password"},
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
// Slashes may be quoted as \/, so what is left of them comes first.
bool url_may_hold_password(std::string_view after) {
  const std::size_t stop = after.find_first_of("/:@ \t\n\f\r", std::min(after.find_first_not_of("\\/"), after.size()));
  return stop != std::string_view::npos && after[stop] == ':';
}

// Where a span that begins at `begin` has to begin so that it takes no escape apart. The n of \n may be a token's first
// letter or that of a newline before it; which, nobody can tell, so its backslashes go with it.
std::size_t with_backslashes(std::string_view text, std::size_t begin) {
  if (begin == text.size() || std::string_view("bfnrtu").find(text[begin]) == std::string_view::npos) return begin;
  while (begin > 0 && text[begin - 1] == '\\') --begin;
  return begin;
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

// In order, with those that overlap made one.
std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (out.empty() || span.begin >= out.back().end) {
      out.push_back(span);
    } else {
      out.back().end = std::max(out.back().end, span.end);
    }
  }
  return out;
}

// Sorted spans grown to what surely ends a word on both sides; those of one word become one.
std::vector<Span> whole_words(const std::vector<Span>& spans, std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\f\r\x1b\"'\\,;(){}[]<>%";
  std::vector<Span> words;
  for (const Span& span : spans) {
    if (!words.empty() && span.end <= words.back().end) continue;
    const std::size_t before = span.begin == 0 ? std::string_view::npos : text.find_last_of(kSpace, span.begin - 1);
    const std::size_t begin = with_backslashes(text, before == std::string_view::npos ? 0 : before + 1);
    words.push_back({begin, std::min(text.find_first_of(kSpace, span.end), text.size())});
  }
  return words;
}

}  // namespace

std::span<const SecretFamily> secret_families() { return kFamilies; }

std::vector<std::string> secret_patterns(const SecretFamily& family) {
  std::vector<std::string> out{std::string(family.pattern)};
  for (const Unquoted& also : kUnquoted) {
    if (also.family == family.name) out.emplace_back(also.pattern);
  }
  for (std::string& pattern : out) {
    // Backwards, as a part holds only earlier ones.
    for (auto part = std::rbegin(kParts); part != std::rend(kParts); ++part) {
      const std::string name = "{" + std::string(part->name) + "}";
      for (std::size_t at = 0; (at = pattern.find(name, at)) != std::string::npos;) pattern.replace(at, name.size(), part->pattern);
    }
  }
  return out;
}

constexpr std::size_t kEveryFamily = SIZE_MAX;
constexpr int kRoundsBySpan = 16;
constexpr std::size_t kShortestMatch = 9;  // of the 31 families, that of url_password: a://:abc@

struct Masker::Rules {
  struct Family {
    std::string name;
    std::vector<std::unique_ptr<re2::RE2>> patterns;
    bool mixed;
    bool always;  // no trigger is known: searched every time
  };
  std::vector<Family> families;
  LiteralSet triggers;
  std::vector<std::size_t> trigger_family;  // literal -> family, or kEveryFamily
  std::vector<bool> in_links;               // literal -> does it stand in every link?
  std::vector<std::string> keys;            // sorted
  std::size_t shortest_key = SIZE_MAX, longest_key = 0;
  std::size_t shortest_text = kShortestMatch;  // no secret in a shorter one

  void find(const Family& family, std::string_view text, std::vector<Span>& spans, MaskCounts& counts) const;
  std::vector<Span> find_all(std::string_view text, MaskCounts& counts) const;
};

Result<Masker> Masker::make(const Options& options) {
  auto rules = std::make_shared<Rules>();
  re2::RE2::Options re2_options(re2::RE2::Quiet);
  std::vector<FieldError> errors;
  const auto add = [&](std::string name, const std::vector<std::string>& patterns, bool mixed, bool always) {
    Rules::Family family{std::move(name), {}, mixed, always};
    for (const std::string& pattern : patterns) {
      auto compiled = std::make_unique<re2::RE2>(pattern, re2_options);
      if (!compiled->ok()) {
        errors.push_back({"/mask/extra", "pattern of '" + family.name + "': " + compiled->error()});
        return;
      }
      family.patterns.push_back(std::move(compiled));
    }
    rules->families.push_back(std::move(family));
  };
  for (const std::string& name : options.off) {
    if (std::none_of(std::begin(kFamilies), std::end(kFamilies), [&](const SecretFamily& f) { return f.name == name; })) {
      errors.push_back({"/mask/off", "no family of secrets is called '" + name + "'"});
    }
  }
  for (const SecretFamily& family : kFamilies) {
    if (std::find(options.off.begin(), options.off.end(), family.name) != options.off.end()) continue;
    add(std::string(family.name), secret_patterns(family), family.mixed, false);
  }
  std::vector<std::string_view> literals;
  for (const Trigger& trigger : kTriggers) {
    const auto family =
        std::find_if(rules->families.begin(), rules->families.end(), [&](const auto& f) { return f.name == trigger.family; });
    if (family == rules->families.end()) continue;
    literals.push_back(trigger.literal);
    rules->trigger_family.push_back(static_cast<std::size_t>(family - rules->families.begin()));
    rules->in_links.push_back(trigger.literal == "://" || trigger.literal == "\\/\\");
  }
  for (const std::string_view letter : kFoldingLetters) {
    literals.push_back(letter);
    rules->trigger_family.push_back(kEveryFamily);
    rules->in_links.push_back(false);
  }
  rules->triggers = LiteralSet(literals);
  for (const Extra& extra : options.extra) add(extra.name, {extra.pattern}, false, true);
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

void Masker::Rules::find(const Family& family, std::string_view text, std::vector<Span>& spans, MaskCounts& counts) const {
  std::vector<Span> found;
  for (const auto& pattern : family.patterns) {
    const int groups = std::min(pattern->NumberOfCapturingGroups(), 1);
    re2::StringPiece match[2];
    std::size_t from = 0;
    while (from <= text.size() &&
           pattern->Match(re2::StringPiece(text.data(), text.size()), from, text.size(), re2::RE2::UNANCHORED, match, groups + 1)) {
      const std::size_t match_end = static_cast<std::size_t>(match[0].data() - text.data()) + match[0].size();
      const std::size_t begin = static_cast<std::size_t>(match[groups].data() - text.data());
      const std::string_view span = text.substr(begin, match[groups].size());
      if (!span.empty() && (!family.mixed || letter_and_digit(span))) {
        const Span whole = with_whole_marks({with_backslashes(text, begin), begin + span.size()}, text);
        if (text.substr(whole.begin, whole.end - whole.begin) != kRedacted) found.push_back(whole);
      }
      from = match_end > from ? match_end : from + 1;
    }
  }
  if (found.empty()) return;
  // What both patterns of a family find is one secret.
  found = merged(std::move(found));
  counts[family.name] += found.size();
  spans.insert(spans.end(), found.begin(), found.end());
}

std::vector<Span> Masker::Rules::find_all(std::string_view text, MaskCounts& counts) const {
  std::vector<bool> wanted;  // made when the first literal is met: most text meets none
  bool everything = false;
  triggers.scan(text, [&](std::size_t literal, std::size_t end) {
    const std::size_t family = trigger_family[literal];
    if (family == kEveryFamily) {
      everything = true;
    } else if (!in_links[literal] || url_may_hold_password(text.substr(end))) {
      wanted.resize(families.size());
      wanted[family] = true;
    }
  });
  std::vector<Span> spans;
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].always || everything || (!wanted.empty() && wanted[i])) find(families[i], text, spans, counts);
  }
  return merged(std::move(spans));
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
    if (round > kRoundsBySpan) spans = merged(whole_words(spans, masked));
    std::string next;
    std::size_t done = 0;
    for (const Span& span : spans) {
      next.append(masked, done, span.begin - done).append(kRedacted);
      done = span.end;
    }
    next.append(masked, done, std::string::npos);
    masked = std::move(next);
    spans = rules_->find_all(masked, counts);
  }
  return masked;
}

}  // namespace weir
