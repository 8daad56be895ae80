package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestTheManPageHasEveryCommandAndFlag(t *testing.T) {
	root := (&app{}).rootCommand()
	page := strings.ReplaceAll(manPage(root, "1970-01-01T00:00:00Z"), `\-`, "-")
	if !strings.HasPrefix(page, `.TH ZONEDECK 1 "1970-01-01" "zonedeck `+version+`"`+"\n") {
		t.Errorf("it begins %.60s", page)
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if !c.HasSubCommands() && !c.Hidden && c.Name() != "help" && !strings.Contains(page, "\n.SS "+c.CommandPath()) {
			t.Errorf("%s is missing", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := `\fB--` + f.Name + `\fR`
			if f.Shorthand != "" {
				name = `\fB-` + f.Shorthand + ", --" + f.Name + `\fR`
			}
			if !f.Hidden && !strings.Contains(page, name) {
				t.Errorf("%s: %s is missing", c.CommandPath(), name)
			}
		})
		for _, child := range c.Commands() {
			look(child)
		}
	}
	look(root)
	for _, want := range []string{
		"\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\nok\n", "\n\\fBZONEDECK_PROFILE\\fR\n", "\n.SH FILES\n", "\nzonedeck saved rename ", " (default api)\n", "\n.nf\n  bash         source <(zonedeck completion bash)\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	macro := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|nf|fi)\b`)
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !macro.MatchString(line) {
			t.Errorf("roff obeys %q", line)
		}
	}
	if got, want := roffText("a\\b -c\n.d\n'e 'f'"), "a\\eb \\-c\n\\&.d\n\\&'e 'f'"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
