#include "context/assemble.h"

#include <algorithm>
#include <iterator>
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
        layout_(in.state, in.compiled.config, in.compiled.selection),
        show_({in.fold, in.state, in.config, in.source, out.arena, out.texts}),
        latest_user_(find_latest_user()) {
    for (auto it = selection_.kept.rbegin(); it != selection_.kept.rend(); ++it) {
      if (layout_.is_collapsed(*it)) continue;
      last_unit_ = in_.state.unit_of(*it);
      break;
    }
  }

  Result<void> run() {
    TRY_DO(policy());
    TRY_DO(snapshot());
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

  // Where the tail begins: the latest message of a person that is kept.
  Ordinal find_latest_user() const {
    for (auto it = selection_.kept.rbegin(); it != selection_.kept.rend(); ++it) {
      if (role(*it) == role_name(Role::user) && kind(*it) == ctree::kMessage && !node(*it).result && layout_.in_scope(*it)) return *it;
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
        if (!layout_.is_policy(i) || layout_.is_system_pin(i) != system_pins || layout_.is_collapsed(i)) continue;
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
    if (!selection_.barrier || !is_kept(reason(in_.state.checkpoint->ordinal)) || layout_.is_collapsed(in_.state.checkpoint->ordinal))
      return {};
    TRY(std::vector<Message> messages, shown(in_.state.checkpoint->ordinal, Section::snapshot));
    for (Message& message : messages) out_.messages.push_back(std::move(message));
    return {};
  }

  Section section_of(Ordinal i) const { return latest_user_ == ctree::kNoNode || i < latest_user_ ? Section::kept : Section::tail; }

  Result<void> conversation() {
    const ctree::ItemWords words(in_.state.words);
    const ctree::StageInput stage{in_.fold, in_.state, in_.compiled.config, selection_, words};
    std::vector<Ordinal> visible;
    std::vector<std::pair<Ordinal, std::vector<Message>>> parts;
    for (const ctree::HeaderItem& item : header_items(selection_)) {
      const Ordinal i = selection_.kept[item.first];
      if (!item.collapsed && (layout_.is_policy(i) || layout_.is_barrier(i))) continue;
      std::vector<Message> messages;
      if (item.collapsed) {
        messages.push_back(collapsed_line(stage, item, section_of(i)));
        for (std::size_t at = 0; at < item.count; ++at) visible.push_back(selection_.kept[item.first + at]);
      } else {
        TRY(messages, shown(i, section_of(i)));
        if (!std::all_of(messages.begin(), messages.end(), is_blank)) visible.push_back(i);
      }
      parts.emplace_back(i, std::move(messages));
    }
    const std::vector<Hole> holes = in_.mark_holes ? layout_.holes(visible) : std::vector<Hole>();
    out_.marks_holes = !holes.empty();
    if (layout_.drops_more_than(holes)) rest_.push_back(line(kNotShown, Section::kept));
    auto hole = holes.begin();
    const auto mark_before = [&](Ordinal end) {
      for (; hole != holes.end() && hole->first < end; ++hole) rest_.push_back(line(layout_.line(*hole), section_of(hole->first)));
    };
    for (auto& [i, messages] : parts) {
      mark_before(i);
      std::move(messages.begin(), messages.end(), std::back_inserter(rest_));
    }
    mark_before(ctree::kNoNode);
    return {};
  }

  Message collapsed_line(const ctree::StageInput& stage, const ctree::HeaderItem& item, Section section) {
    const auto turns = collapsed_turns(stage, item);
    std::string text = "[weir: " + std::to_string(item.count) + " messages collapsed, turns ";
    ctree::write_turn(turns.first, text);
    text += '-';
    ctree::write_turn(turns.second, text);
    return line(text + ", ids_sha256 " + collapsed_ids_sha256(stage, item) + "]", section);
  }

  Message line(std::string_view text, Section section) const {
    Message out = make_line(text, out_.arena);
    out.section = section;
    return out;
  }

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
      // Of what is blank no provider is shown anything, though hashes cover it.
      if (message.node == ctree::kNoNode || is_blank(message)) continue;
      Item& shown = item(message.node, message.section);
      if (message.placeholder) shown.placeholders.emplace_back(message.answers);
    }
    for (const auto& [ordinal, section] : sections_) {
      if (places.contains(ordinal)) continue;
      if (node(ordinal).result) {
        out_.orphans.push_back(ordinal);  // an edit took its call away
      } else if (kind(ordinal) == ctree::kMessage) {
        out_.empty.push_back(ordinal);
      } else {
        // A compaction of which nothing can be shown is still the one in force, in its section.
        const auto after = std::find_if(out_.items.begin(), out_.items.end(), [&](const Item& other) { return other.section > section; });
        out_.items.insert(after, Item{ordinal, section, false, std::nullopt, {}});
      }
    }
  }

  static bool is_blank(const Message& message) { return message.role != Role::tool && message.blocks.empty() && message.calls.empty(); }

  const AssembleInput& in_;
  const ctree::Selection& selection_;
  Context& out_;
  const Layout layout_;
  NodeShow show_;
  const Ordinal latest_user_;
  Ordinal last_unit_ = ctree::kNoNode;
  std::vector<Message> rest_;
  std::set<std::string_view> quoted_;  // calls of which only the text is shown
  std::map<Ordinal, Section> sections_;
  std::map<Ordinal, std::optional<Digest>> cuts_;
};

}  // namespace

Result<Context> assemble(const AssembleInput& input) {
  if (!input.allow_over_budget) TRY_DO(check_budget(input.compiled.selection));
  Context out;
  TRY_DO(Assembling(input, out).run());
  return out;
}

}  // namespace weir::context
