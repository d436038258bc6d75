# bash completions of weir; source this file.
_weir() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
  if [ "$COMP_CWORD" = 1 ]; then
    words="init doctor demo session append log tree show history stats head read refresh reads compile explain context diff note due compact snapshot stop resume research import sync export verify anchor gc purge backup mcp serve token config completions help"
  else
    case $command in
      init) words="--at --color --config --dry-run --head --help --json --quiet --session --store --timeout --verbose --version" ;;
      doctor) words="--at --color --config --fix --head --help --json --quiet --session --store --timeout --verbose --version" ;;
      demo) words="--at --color --config --head --help --json --keep --quiet --session --store --timeout --verbose --version" ;;
      session) words="--at --color --config --dry-run --head --help --json --quiet --session --store --timeout --verbose --version list new show" ;;
      append) words="--at --color --config --dry-run --expect --head --help --id --json --lenient --no-mask --parent --quiet --session --store --timeout --type --verbose --version" ;;
      log) words="--at --color --config --follow --head --help --json --limit --quiet --reverse --session --since --store --timeout --type --verbose --version" ;;
      tree) words="--all-types --at --color --config --dry-run --goto --head --help --json --quiet --session --store --timeout --verbose --version" ;;
      show) words="--at --color --config --head --help --json --quiet --raw --resolve --session --store --timeout --verbose --version" ;;
      history) words="--at --color --config --head --help --json --limit --no-progress --progress --quiet --regex --session --store --timeout --type --verbose --version --where" ;;
      stats) words="--at --color --config --head --help --json --quiet --session --store --timeout --verbose --version" ;;
      head) words="--at --before --color --config --dry-run --expect --head --help --json --quiet --session --store --timeout --verbose --version --yes delete fork list move" ;;
      read) words="--at --bypass --color --config --head --help --json --limit --no-mask --no-record --offset --quiet --request-id --root --session --store --timeout --verbose --version" ;;
      refresh) words="--at --color --config --dry-run --head --help --json --quiet --root --session --store --timeout --verbose --version" ;;
      reads) words="--at --color --config --head --help --json --quiet --root --session --store --timeout --verbose --version digest" ;;
      compile) words="--at --collapse-mode --collapse-target --color --compile-config --config --expect --full --head --help --json --previews --profile --prompt-summary --quiet --records --session --stage --store --timeout --tree --verbose --version" ;;
      explain) words="--at --color --compile-config --config --head --help --json --quiet --session --store --timeout --verbose --version" ;;
      context) words="--allow-over-budget --at --budget --color --config --context-config --dry-run --format --head --help --json --quiet --request --session --store --timeout --verbose --version" ;;
      diff) words="--at --color --compile-config --config --head --help --json --previews --quiet --session --store --timeout --verbose --version --what" ;;
      note) words="--at --category --color --config --dry-run --head --help --id --json --op --other --quiet --refs --session --span --store --text --timeout --verbose --version --where claim conflict evidence failure next question" ;;
      due) words="--at --color --config --event-threshold --head --help --json --n-step-fallback --quiet --session --store --timeout --verbose --version" ;;
      compact) words="--at --color --config --dry-run --expect --first-kept --head --help --if-due --json --max-bytes --quiet --reason --session --store --timeout --tokens-before --verbose --version" ;;
      snapshot) words="--at --color --config --dry-run --head --help --json --max-bytes --quiet --session --store --timeout --verbose --version attach check list narrative show" ;;
      stop) words="--at --color --config --dry-run --head --help --json --quiet --reason --session --store --timeout --verbose --version" ;;
      resume) words="--at --color --config --dry-run --forgive --head --help --json --note --quiet --session --store --timeout --verbose --version" ;;
      research) words="--adopt --allow-missing --at --checked-at --checked-by --color --config --dry-run --expect-revision --extract --from --head --help --http-status --json --limit --list --mode --no-progress --notes --numbers --out --patch --progress --publisher --query --quiet --reason --rebuild --render --run --run-root --runs-root --sensitivity --session --snippet --status --store --timeout --title --truncate --verbose --version --wave bundle check cite gate ingest init pack perspectives status summarize verify" ;;
      import) words="--as --at --color --config --dry-run --follow --head --help --json --no-mask --no-progress --progress --quiet --session --store --strict --timeout --verbose --version pi" ;;
      sync) words="--at --color --config --dry-run --file --format --head --help --json --no-mask --no-progress --progress --quiet --session --store --timeout --verbose --version" ;;
      export) words="--all --at --color --config --format --head --help --json --no-progress --output --path --progress --quiet --session --store --timeout --verbose --version" ;;
      verify) words="--anchor --at --color --config --head --help --json --key --no-progress --progress --quick --quiet --sample --session --store --timeout --unsigned --verbose --version" ;;
      anchor) words="--at --color --config --dry-run --head --help --hide-names --json --key --out --quiet --session --store --timeout --unsigned --verbose --verifier-key --version" ;;
      gc) words="--at --color --config --dry-run --head --help --json --no-progress --progress --quiet --session --store --timeout --verbose --version" ;;
      purge) words="--at --blob --color --config --dry-run --head --help --json --no-progress --progress --quiet --session --store --timeout --vacuum --verbose --version --yes" ;;
      backup) words="--at --color --config --dry-run --head --help --json --no-progress --progress --quiet --session --store --timeout --verbose --version" ;;
      mcp) words="--at --color --config --conformance --head --help --host --json --quiet --root --session --store --timeout --verbose --version" ;;
      serve) words="--at --color --config --conformance --head --help --json --listen --quiet --read-only --root --session --store --timeout --verbose --version" ;;
      token) words="--at --color --config --dry-run --head --help --json --quiet --read --session --store --timeout --verbose --version --yes rotate show" ;;
      config) words="--at --color --config --head --help --json --origin --quiet --session --store --timeout --verbose --version check path show" ;;
      completions) words="--at --color --config --head --help --json --quiet --session --store --timeout --verbose --version bash fish zsh" ;;
      help) words="--at --color --config --head --help --json --man --markdown --quiet --session --store --timeout --verbose --version" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _weir weir
