#include "context/assemble.h"

#include <algorithm>
#include <map>
#include <set>

#include "context/pair.h"
#include "context/show_node.h"
#include "ctree/item_words.h"
#include "ctree/kind.h"
#include "ctree/stages.h"
#include "json/canonical.h"

namespace weir::context {
namespace {

using ctree::Ordinal;
using ctree::Reason;
using json::Value;

Result<void> check_budget(const ctree::Selection& selection) {
  for (const ctree::OverBudget& over : selection.over_budget) {
    if (!is_size(over)) continue;
    return Error(ErrorCode::CONTEXT_OVER_BUDGET, "what must be in the context needs " + std::to_string(over.pinned) + " of " +
                                                     std::string(over.limit) + ", allowed are " + std::to_string(over.allowed))
        .with("limit", std::string(over.limit))
        .with("needed", static_cast<std::int64_t>(over.pinned))
        .with("allowed", static_cast<std::int64_t>(over.allowed));
  }
  return {};
}

class Assembling {
 public:
  Assembling(const AssembleInput& in, Context& out)
      : in_(in),
        selection_(in.compiled.selection),
        out_(out),
        show_({in.fold, in.state, in.config, in.source, out.arena, out.texts}),
        latest_user_(find_latest_user()) {
    for (auto it = selection_.kept.rbegin(); it != selection_.kept.rend(); ++it) {
      if (std::binary_search(selection_.collapsed.begin(), selection_.collapsed.end(), *it)) continue;
      last_unit_ = in_.state.unit_of(*it);
      break;
    }
  }

  Result<void> run() {
    TRY_DO(policy());
    TRY_DO(snapshot());
    dropped_line();
    TRY_DO(conversation());
    quote_results();
    for (Message& message : pair_results(std::move(rest_), out_.arena, out_.unanswered_call)) out_.messages.push_back(std::move(message));
    list_items();
    return {};
  }

 private:
  const ctree::Node& node(Ordinal i) const { return in_.state.nodes[i]; }
  std::string_view kind(Ordinal i) const { return in_.state.words.text(node(i).kind); }
  std::string_view role(Ordinal i) const { return in_.state.words.text(node(i).role); }
  Reason reason(Ordinal i) const { return selection_.reason(in_.state, i); }
  bool is_barrier(Ordinal i) const { return selection_.barrier && i == in_.state.checkpoint->ordinal; }

  bool in_scope(Ordinal i) const {
    if (!selection_.barrier || in_.compiled.config.whole_path) return true;
    const ctree::Checkpoint& checkpoint = *in_.state.checkpoint;
    if (i >= checkpoint.ordinal) return true;
    if (i < selection_.first || checkpoint.has_replacement) return false;
    return !checkpoint.has_kept || std::binary_search(checkpoint.kept->begin(), checkpoint.kept->end(), i);
  }

  bool is_system_pin(Ordinal i) const { return reason(i) == Reason::pin_first_system || reason(i) == Reason::pin_latest_system; }
  bool is_policy(Ordinal i) const { return is_system_pin(i) || !in_scope(i); }

  // Where the tail begins: the latest message of a person that is kept.
  Ordinal find_latest_user() const {
    for (auto it = selection_.kept.rbegin(); it != selection_.kept.rend(); ++it) {
      if (role(*it) == role_name(Role::user) && kind(*it) == ctree::kMessage && !node(*it).result && in_scope(*it)) return *it;
    }
    return ctree::kNoNode;
  }

  Result<std::vector<Message>> shown(Ordinal i, Section section) {
    TRY(ShownNode shown, show_.show(i, in_.state.unit_of(i) == last_unit_));
    out_.unanswered_call |= shown.unanswered;
    for (std::string& place : shown.provider_blocks) out_.left_out.push_back({i, std::move(place)});
    if (shown.cut) cuts_.emplace(i, shown.blob);
    sections_.emplace(i, section);
    for (Message& message : shown.messages) message.section = section;
    return std::move(shown.messages);
  }

  // ---- the sections ----

  Result<void> policy() {
    for (const bool system_pins : {true, false}) {
      for (const Ordinal i : selection_.kept) {
        if (!is_policy(i) || is_system_pin(i) != system_pins || is_collapsed(i)) continue;
        TRY(std::vector<Message> messages, shown(i, Section::policy));
        if (kind(i) == ctree::kMessage) {
          flatten(i, messages);
        } else {
          for (Message& message : messages) out_.messages.push_back(std::move(message));
        }
      }
    }
    return {};
  }

  // What was said before the scope is quoted, not replayed: no calls, and only what was system stays it.
  void flatten(Ordinal i, std::vector<Message>& messages) {
    std::string text;
    const auto add = [&](const std::string& part) {
      if (!part.empty() && !text.empty()) text += '\n';
      text += part;
    };
    for (const Message& message : messages) {
      add(text_of(message.blocks));
      for (const Call& call : message.calls) {
        quoted_.insert(call.id);
        add(json::canonical(json::make_object(out_.arena, {{"arguments", call.arguments}, {"id", call.id}, {"name", call.name}})));
      }
    }
    const bool system = role(i) == role_name(Role::system);
    if (messages.size() == 1 && messages[0].role == Role::system) {
      out_.messages.push_back(std::move(messages[0]));
      return;
    }
    const Role said = parse_role(role(i)).value_or(Role::user);
    Message line = system ? make_line(text, out_.arena) : quote(said, text);
    if (system) {
      line.role = Role::system;
      line.neutral = with_member(line.neutral, "role", role_name(Role::system), out_.arena);
    }
    line.node = i;
    line.section = Section::policy;
    out_.messages.push_back(std::move(line));
  }

  Message quote(Role said, const std::string& text) {
    const std::string head = "[weir: pinned from earlier, role " + std::string(role_name(said)) + "]";
    return make_line(text.empty() ? head : head + "\n" + text, out_.arena);
  }

  // A result that came after the barrier, of a call before it that is quoted, has no call to stand behind.
  void quote_results() {
    if (quoted_.empty()) return;
    std::set<std::string_view> made;
    for (Message& message : rest_) {
      for (const Call& call : message.calls) made.insert(call.id);
      if (message.role != Role::tool || made.contains(message.answers) || !quoted_.contains(message.answers)) continue;
      Message line = quote(Role::tool, text_of(message.blocks));
      line.node = message.node;
      line.section = message.section;
      message = std::move(line);
    }
  }

  Result<void> snapshot() {
    if (!selection_.barrier || !is_kept(reason(in_.state.checkpoint->ordinal)) || is_collapsed(in_.state.checkpoint->ordinal)) return {};
    TRY(std::vector<Message> messages, shown(in_.state.checkpoint->ordinal, Section::snapshot));
    for (Message& message : messages) out_.messages.push_back(std::move(message));
    return {};
  }

  void dropped_line() {
    if (std::none_of(selection_.dropped.begin(), selection_.dropped.end(), [&](Ordinal i) { return in_scope(i); })) return;
    add_line(kNotShown, Section::kept);
  }

  Result<void> conversation() {
    const ctree::ItemWords words(in_.state.words);
    const ctree::StageInput stage{in_.fold, in_.state, in_.compiled.config, selection_, words};
    for (const ctree::HeaderItem& item : header_items(selection_)) {
      const Ordinal i = selection_.kept[item.first];
      const Section section = latest_user_ == ctree::kNoNode || i < latest_user_ ? Section::kept : Section::tail;
      if (item.collapsed) {
        collapsed_line(stage, item, section);
        continue;
      }
      if (is_policy(i) || is_barrier(i)) continue;
      TRY(std::vector<Message> messages, shown(i, section));
      for (Message& message : messages) rest_.push_back(std::move(message));
    }
    return {};
  }

  void collapsed_line(const ctree::StageInput& stage, const ctree::HeaderItem& item, Section section) {
    const auto turns = collapsed_turns(stage, item);
    std::string text = "[weir: " + std::to_string(item.count) + " messages collapsed, turns ";
    ctree::write_turn(turns.first, text);
    text += '-';
    ctree::write_turn(turns.second, text);
    add_line(text + ", ids_sha256 " + collapsed_ids_sha256(stage, item) + "]", section);
  }

  void add_line(std::string_view text, Section section) {
    rest_.push_back(make_line(text, out_.arena));
    rest_.back().section = section;
  }

  bool is_collapsed(Ordinal i) const { return std::binary_search(selection_.collapsed.begin(), selection_.collapsed.end(), i); }

  // ---- what is where ----

  void list_items() {
    std::map<Ordinal, std::size_t> places;
    const auto item = [&](Ordinal i, Section section) -> Item& {
      const auto [place, fresh] = places.emplace(i, out_.items.size());
      if (!fresh) return out_.items[place->second];
      const auto cut = cuts_.find(i);
      out_.items.push_back({i, section, cut != cuts_.end(), cut == cuts_.end() ? std::nullopt : cut->second, {}});
      return out_.items.back();
    };
    for (const Message& message : out_.messages) {
      if (message.node == ctree::kNoNode) continue;
      Item& shown = item(message.node, message.section);
      if (message.placeholder) shown.placeholders.emplace_back(message.answers);
    }
    for (const auto& [ordinal, section] : sections_) {
      if (places.contains(ordinal)) continue;
      if (node(ordinal).result) {
        out_.orphans.push_back(ordinal);  // an edit took its call away
        continue;
      }
      // A node of which nothing can be shown is still one that was chosen, in its section.
      const auto after = std::find_if(out_.items.begin(), out_.items.end(), [&](const Item& other) { return other.section > section; });
      out_.items.insert(after, Item{ordinal, section, false, std::nullopt, {}});
    }
  }

  const AssembleInput& in_;
  const ctree::Selection& selection_;
  Context& out_;
  NodeShow show_;
  const Ordinal latest_user_;
  Ordinal last_unit_ = ctree::kNoNode;
  std::vector<Message> rest_;
  std::set<std::string_view> quoted_;  // calls of which only the text is shown
  std::map<Ordinal, Section> sections_;
  std::map<Ordinal, std::optional<Digest>> cuts_;
};

}  // namespace

bool is_size(const ctree::OverBudget& over) {
  return over.limit == "max_bytes" || over.limit == "max_tokens" || over.limit == "max_message_chars";
}

Result<Context> assemble(const AssembleInput& input) {
  if (!input.allow_over_budget) TRY_DO(check_budget(input.compiled.selection));
  Context out;
  TRY_DO(Assembling(input, out).run());
  return out;
}

}  // namespace weir::context
