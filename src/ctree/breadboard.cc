#include "ctree/breadboard.h"

#include "ctree/breadboard_python.h"

namespace weir::breadboard {
namespace {

// Takes the members of an object one by one; what nobody took is unknown.
class Arguments {
 public:
  static Result<Arguments> of(const Value& args) {
    if (!args.is_object() && !args.is_null()) return Error(ErrorCode::INVALID_FIELD, "the arguments are no object");
    return Arguments(args);
  }

  void take(const char* key, Value& to) {
    if (const Value* found = args_.find(key)) to = *found;
    rest_ = without_member(rest_, key);
  }
  void take(const char* key, bool& to) {
    Value value = to;
    take(key, value);
    to = is_true(value);
  }
  Result<void> finish() const {
    if (rest_.members().empty()) return {};
    std::vector<FieldError> fields;
    for (const Member& member : rest_.members()) fields.push_back({"/" + member.key, "is unknown"});
    return Error(ErrorCode::INVALID_FIELD, "unknown arguments").with_fields(std::move(fields));
  }

 private:
  explicit Arguments(const Value& args) : args_(args), rest_(args) {}
  Value args_, rest_;
};

}  // namespace

Result<Value> compile(const Store& store, const Value& config, const Value& prompt_summary) {
  TRY(const Compiled compiled, compile_stages(store, config, prompt_summary));
  return output_of(store, compiled);
}

Result<CollapseArgs> collapse_args(const Value& args) {
  TRY(Arguments given, Arguments::of(args));
  CollapseArgs out;
  given.take("target", out.target);
  given.take("mode", out.mode);
  given.take("kind_allowlist", out.kind_allowlist);
  TRY_DO(given.finish());
  return out;
}

Result<ContextArgs> context_args(const Value& args) {
  TRY(Arguments given, Arguments::of(args));
  ContextArgs out;
  given.take("selection_config", out.selection_config);
  given.take("header_config", out.header_config);
  given.take("collapse_target", out.collapse_target);
  given.take("collapse_mode", out.collapse_mode);
  given.take("stage", out.stage);
  given.take("pin_latest", out.pin_latest);
  given.take("extra_pin_ids", out.extra_pin_ids);
  TRY_DO(given.finish());
  return out;
}

Result<TreeArgs> tree_args(const Value& args) {
  TRY(Arguments given, Arguments::of(args));
  TreeArgs out;
  given.take("stage", out.stage);
  given.take("compiler_config", out.compiler_config);
  given.take("collapse_target", out.collapse_target);
  given.take("collapse_mode", out.collapse_mode);
  given.take("include_previews", out.include_previews);
  TRY_DO(given.finish());
  return out;
}

}  // namespace weir::breadboard
