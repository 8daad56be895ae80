package snippet

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zonedeck/internal/noerr"
)

// words are those of a batch that are hard to quote.
var words = []string{"batch", "/home/o'neil/100 % of $URLS.csv", "--url", "http://a.test/{{sku}}?a=1&b=\"2\"", "--header", `X-Path: C:\temp`, "--max-cost", "5"}

// arguments are those that a shell gives to the program of a command, which is printf.
func arguments(t *testing.T, command string) []string {
	t.Helper()
	out := noerr.Try(exec.CommandContext(t.Context(), "/bin/sh", "-c", command).Output()).Must(t)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func checkArguments(t *testing.T, got []string) {
	t.Helper()
	want := append(append([]string{"--config", "/etc/z.toml", "--profile", "my own"}, words...), "--once")
	last := len(got) - 1
	if strings.Join(got[:last], "\n") != strings.Join(want, "\n") || !regexp.MustCompile(`^prices-\d{4}-\d\d-\d\d$`).MatchString(got[last]) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// printer prints its arguments, a line each.
const printer = "/usr/bin/printf"

func TestALineOfCronBeginsTheBatchOfTheDay(t *testing.T) {
	text := noerr.Try(Write(Batch, "cron", Options{Program: printer, Profile: "my own", Config: "/etc/z.toml", Batch: words, Series: "prices"})).Must(t)
	var line string
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "#") {
			line += l
		}
	}
	parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
	if strings.Contains(parts[5], "\n") || strings.Join(parts[:5], " ") != "17 5 * * *" {
		t.Fatalf("%q", line)
	}
	command := strings.ReplaceAll(parts[5], `\%`, "%") // as cron does
	if strings.Count(parts[5], "%") != strings.Count(parts[5], `\%`) {
		t.Errorf("cron ends the command at a percent sign: %s", parts[5])
	}
	if got := arguments(t, strings.Replace(command, printer, printer+` '%s\n'`, 1)); !slices.Equal(got, []string{""}) {
		t.Errorf("cron mails of a batch that is ok: %q", got)
	}
	got := arguments(t, strings.Replace(command, printer, `/bin/sh -c 'printf "%s\n" "$@"; exit 10' -`, 1))
	var ended bool
	if got[0], ended = strings.CutPrefix(got[0], "zonedeck batch ended with 10: "); !ended {
		t.Errorf("%q", got)
	}
	checkArguments(t, got)
}

func TestAUnitBeginsTheBatchOfTheDay(t *testing.T) {
	text := noerr.Try(Write(Batch, "systemd", Options{Program: printer, Profile: "my own", Config: "/etc/z.toml", Batch: words, Series: "prices"})).Must(t)
	_, after, found := strings.Cut(text, "\nExecStart=/bin/sh -c \"")
	line, _, _ := strings.Cut(after, "\n")
	if !found || !strings.HasSuffix(line, `"`) || !strings.Contains(text, "zonedeck-prices.timer") || !strings.Contains(text, "29 it stopped at its cap") {
		t.Fatal(text)
	}
	command := strings.NewReplacer(`\\`, `\`, `\"`, `"`, "%%", "%", "$$", "$").Replace(strings.TrimSuffix(line, `"`)) // as systemd does
	checkArguments(t, arguments(t, strings.Replace(command, printer, printer+` '%s\n'`, 1)))
}
