package whole

import (
	"strings"
	"testing"
)

// paletteWords are words that people type, with the command that they mean.
var paletteWords = map[string]string{
	"add zone": "add zone", "export": "code", "balance": "balance", "spend": "balance", "theme": "theme",
	"delete profile": "remove profile", "schedule": "schedule a batch", "reset": "Emulator: begin again…", "rotate": "rotate",
	"renew": "rotate", "csv": "new job", "trigger": "new job", "quit": "quit", "help": "help", "proxy test": "test the login",
	"twin": "compare zones", "delete": "saved requests", "remove request": "bring back a removed request", "log in": "add profile", "login": "test the login", "matrix": "compare all logins (matrix)", "add key": "record a key",
	"add account": "add profile", "price": "measure the rates of the zones", "delete key": "forget",
	"delete zone": "remove zone", "revoke": "rotate", "usage": "balance",
	"resend": "send", "retry": "send", "import": "paste a request (curl, HAR)", "paste": "paste a request (curl, HAR)", "curl": "paste a request (curl, HAR)", "fullscreen": "zoom",
}

// The first line of the palette is what people mean by a word, and what only a note says is not offered beside it.
func TestThePaletteFindsWhatPeopleMean(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(120, 40)
	ready(p)
	p.Press("esc")
	for typed, want := range paletteWords {
		p.PressFor("ctrl+p", "Commands")
		p.Type(typed)
		_, screen, _ := strings.Cut(p.WaitFor("› "+typed), "› "+typed)
		_, first, _ := strings.Cut(screen, "›")
		if !strings.HasPrefix(first, want+"  ") {
			t.Errorf("%q finds first %.40q, want %q", typed, first, want)
		}
		if typed == "add zone" && strings.Contains(screen, "new password") {
			t.Errorf("%q offers the new password of a zone too:\n%s", typed, screen)
		}
		if typed == "add account" {
			p.Press("ctrl+u")
			p.Type("account")
			p.WaitFor("› account", "balance", "use profile")
		}
		p.Press("esc")
		p.WaitGone("Commands")
	}
}
