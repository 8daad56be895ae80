package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bashWords splits the line in the script for bash where the package bash-completion, which it would ask, is not installed.
const bashWords = `
    local line=${COMP_LINE:0:COMP_POINT} word= quote= char i
    words=()
    for ((i = 0; i < ${#line}; i++)); do
        char=${line:i:1}
        if [[ $quote == "\\" || $char == "$quote" ]]; then quote=
        elif [[ -n $quote ]]; then :
        elif [[ $char == [\'\"\\] ]]; then quote=$char
        elif [[ $char == [[:blank:]] ]]; then
            [[ -n $word ]] && words+=("$word")
            word=
            continue
        fi
        word+=$char
    done
    words+=("$word")
    cur=$word cword=$((${#words[@]} - 1))`

func (a *app) completionCommand() *cobra.Command {
	return command(a, spec[struct{}]{
		use:   "completion bash|zsh|fish|powershell",
		short: "Print the script by which a shell completes commands, flags and names",
		long: `Prints the script by which a shell completes commands, flags, and what they take:
zones, keys, profiles, jobs, batches, webhooks, data sets, collectors, fetches of
the history, saved requests, and words such as classes. Names come from the files
of this machine; nothing is sent. Load it where the shell starts:

  bash         source <(zonedeck completion bash)
  zsh          source <(zonedeck completion zsh)    after compinit
  fish         zonedeck completion fish | source
  PowerShell   zonedeck completion powershell | Out-String | Invoke-Expression`,
		run: func(_ context.Context, _ *task, _ struct{}, args []string) (printed, error) {
			root, script := a.rootCommand(), &strings.Builder{}
			write, known := map[string]func(io.Writer) error{
				"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"zsh":  root.GenZshCompletion, "powershell": root.GenPowerShellCompletionWithDesc,
			}[args[0]]
			if !known {
				return printed{}, usage("there is no completion for %q: write bash, zsh, fish or powershell", args[0])
			}
			err := write(script)
			// Nothing that is offered needs quoting. bash would quote the commas of a list, and then not know its beginning again.
			return printed{text: strings.NewReplacer(`_get_comp_words_by_ref "$@" cur prev words cword`, strings.TrimSpace(bashWords), "%q", "%s").Replace(script.String())}, err
		},
	})
}
