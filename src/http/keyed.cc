#include "http/keyed.h"

#include <algorithm>
#include <vector>

#include "json/decode.h"
#include "json/mask.h"
#include "json/parse.h"

namespace weir::http {
namespace {

constexpr std::size_t kMostKey = 128;
constexpr std::size_t kNameDigits = 24;
constexpr int kDecidedAnew = 0;  // stands for the status of an answer that is never said again

// Parts that cannot run into each other.
void add_part(Sha256& hash, std::string_view part) { hash.update(std::to_string(part.size())).update(":").update(part); }

// Does the text of an answer (JSON, or lines of it) hold what is masked wherever it is stored?
bool holds_secret(std::string_view text, const Masker& masker) {
  MaskCounts found;
  json::Parser parser;
  if (const auto value = parser.parse_stored(text); value.ok()) {
    json::mask(*value, masker, parser.arena(), found);
    return !found.empty();
  }
  return masker.mask(text, found).has_value();
}

}  // namespace

Result<void> check_key(std::string_view key) {
  const bool visible = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (visible && !key.empty() && key.size() <= kMostKey) return {};
  json::FieldErrors errors;
  errors.add("/Idempotency-Key", "is 1 to 128 visible characters of ASCII");
  return errors.result();
}

bool is_keyed(const Exchange& exchange) { return exchange.method() == "POST" && exchange.request().has("idempotency-key"); }

bool KeyedAnswers::begin(Exchange& exchange, std::optional<Answers::Turn>& turn) {
  const std::string_view key = exchange.header("idempotency-key");
  const auto find = [&]() -> Result<Answers::Begun> {
    TRY_DO(check_key(key));
    return look(key, exchange);
  };
  auto begun = find();
  if (!begun.ok()) {
    exchange.answer(std::move(begun).error());
    return false;
  }
  if (begun->turn) turn.emplace(std::move(*begun->turn));
  if (!begun->kept) return true;
  KeptAnswer& kept = *begun->kept;
  api::Headers headers{{std::string(kReplayed), "true"}};
  if (!kept.type.empty()) headers.emplace_back("Content-Type", kept.type);
  exchange.answer(kept.status, std::move(headers), std::move(kept.body));
  return false;
}

// No client can send such a key: a line feed is not visible.
Result<Answers::Begun> KeyedAnswers::begin_part(const Exchange& exchange, std::size_t place) {
  return look(std::string(exchange.header("idempotency-key")) + "\n" + std::to_string(place), exchange);
}

Result<Answers::Begun> KeyedAnswers::look(std::string_view key, const Exchange& exchange) {
  TRY(Answers * kept, answers());
  TRY(Answers::Begun begun, kept->begin(key, request_digest(exchange)));
  if (begun.kept && begun.kept->status == kDecidedAnew) begun.kept.reset();
  return begun;
}

void KeyedAnswers::remember(std::optional<Answers::Turn>& held, std::string_view session) {
  keep(held, session, {.status = kDecidedAnew, .type = "", .body = ""});
}

void KeyedAnswers::keep(std::optional<Answers::Turn>& held, std::string_view session, const KeptAnswer& answer) {
  if (!held) return;
  const std::optional<Answers::Turn> turn = std::move(held);
  held.reset();
  if (answer.body.size() > kMostKept || holds_secret(answer.body, world_.service.masker())) return;
  const auto kept = turn->keep(session, answer);
  // The work is done: saying so is right, even if a repetition will not be known.
  if (!kept.ok()) journal_.write(api::Level::warn, "answer-not-kept", {{"error", kept.error().message()}});
}

void KeyedAnswers::forget(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  if (answers_ == nullptr || world_.service.store().sqlite() != nullptr) return;
  if (const auto gone = answers_->forget(session); !gone.ok())
    journal_.write(api::Level::warn, "answers-not-forgotten", {{"error", gone.error().message()}});
}

Result<Answers*> KeyedAnswers::answers() {
  const std::lock_guard lock(mutex_);
  if (answers_ == nullptr) {
    TRY(answers_, Answers::open(world_.service.store(), world_.read_only));
  }
  return answers_.get();
}

Digest request_digest(const Exchange& exchange) {
  Sha256 hash;
  add_part(hash, exchange.method());
  add_part(hash, exchange.request().target);
  add_part(hash, exchange.header("authorization"));
  add_part(hash, exchange.body());
  return hash.finish();
}

json::Value name_work(std::string_view operation, const json::Value& arguments, std::string_view key, const Digest& request,
                      json::Arena& arena) {
  const auto name = [&](std::size_t place) {
    Sha256 hash;
    add_part(hash, key);
    add_part(hash, request.bytes());
    add_part(hash, std::to_string(place));
    return json::Value(arena.copy("k" + hash.finish().hex().substr(0, kNameDigits)));
  };
  const std::string_view single = operation == "createSession" ? "id" : operation == "read" ? "request_id" : "";
  if (!single.empty()) {
    json::ObjectBuilder out(arena);
    for (const json::Member& member : arguments.members()) out.add(member.key, member.value);
    return out.add(single, name(0)).build();
  }
  const json::Value* entries = arguments.find("entries");
  if (operation != "appendEntries" || entries == nullptr || !entries->is_array()) return arguments;
  std::vector<json::Value> named;
  for (const json::Value& entry : entries->items()) {
    if (!entry.is_object() || entry.find("id") != nullptr) {
      named.push_back(entry);
      continue;
    }
    json::ObjectBuilder out(arena);
    out.add("id", name(named.size()));
    for (const json::Member& member : entry.members()) out.add(member.key, member.value);
    named.push_back(out.build());
  }
  json::ObjectBuilder out(arena);
  out.add("entries", json::make_array(arena, named));
  for (const json::Member& member : arguments.members()) out.add(member.key, member.value);
  return out.build();
}

}  // namespace weir::http
