package cli

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// whenWritten calls a function when the output matches.
type whenWritten struct {
	watched
	match *regexp.Regexp
	call  func()
}

func (w *whenWritten) Write(p []byte) (int, error) {
	n, err := w.watched.Write(p)
	if w.match.Match(p) {
		w.call()
	}
	return n, err
}

func TestWhatWasPaidForIsPrintedWhenACommandIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args       []string
		when, want string
	}{
		"rotation": {[]string{"proxy", "test", "--zone", "residential_demo", "--rotation", "500"}, `[1-9]\d* of 500 calls`, `(?s)CONNECT +done.*ended after \d+ of 500 calls: stopped`},
		"logins":   {[]string{"compare", "https://lab.test/slow?s=1", "--logins", "--zones", "residential_demo", "--repeat", "20"}, `[1-9]\d* calls? made`, `residential_demo +ok +\d+ of \d+`},
		"refusal":  {[]string{"diagnose", "http://lab.test/forbidden", "--zone", "datacenter_demo"}, `compare +`, `refused +- +access restricted +403`},
		"refusal as JSON": {
			[]string{"diagnose", "http://lab.test/forbidden", "--zone", "datacenter_demo", "--json"},
			`compare +`,
			`"culprit":"".*"fetch":\{"id":"f_`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p, stdout, _ := process(t, nil, c.args...)
			stderr := &whenWritten{match: regexp.MustCompile(c.when), call: cancel}
			p.Stderr, p.StderrTTY = stderr, true
			if code := Main(ctx, p); code != ExitInterrupted || !regexp.MustCompile(c.want).MatchString(stdout.String()) {
				t.Errorf("exit code %d, want %d; stdout %q, stderr %q", code, ExitInterrupted, stdout, stderr.String())
			}
		})
	}
}

func TestAFollowThatIsToldToEndEndsWith0(t *testing.T) {
	p, _, stderr := process(t, nil, "jobs", "trigger", "gd_pages", "--input", "-")
	p.Stdin = strings.NewReader("http://lab.test/slow?s=20\n")
	if code := Main(t.Context(), p); code != exitOK {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	follow, _, stderr := process(t, nil, "jobs", "follow")
	follow.Getenv = p.Getenv // the same home
	stdout := &whenWritten{match: regexp.MustCompile(`job-1 .*(accepted|running)`), call: cancel}
	follow.Stdout = stdout
	if code := Main(ctx, follow); code != exitOK || strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr)
	}
}
