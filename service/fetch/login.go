package fetch

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"zonedeck/model"
	"zonedeck/service/importers"
)

// LoginForms lists what ReadLogin accepts.
const LoginForms = "a URL, host:port:user:password, user:password@host:port, user:password, a username, or a curl command"

// ReadLogin parses a pasted login that contains a username. Its errors list the
// accepted forms. Of the pasted text they repeat a username as far as it is wrong, and nothing else.
func ReadLogin(s string) (model.Login, error) {
	parse := model.ParseLogin
	if importers.IsCurl(s) {
		parse = importers.Login
	}
	l, err := parse(s)
	if err == nil && l.Username == "" {
		err = errors.New("it names a host but no user")
	}
	if err == nil {
		_, err = model.ReadUsername(l.Username, nil)
	}
	if err != nil {
		return model.Login{}, fmt.Errorf("%w%s; accepted are %s", err, wrongAt(l.Username, err), LoginForms)
	}
	return l, nil
}

// wrongAt shows a username up to the part that is wrong; empty where the text may be something else than a username.
func wrongAt(username string, err error) string {
	var wrong *model.UsernameError
	tokens := strings.Split(username, "-")
	if !errors.As(err, &wrong) || len(tokens) < 2 {
		return ""
	}
	at := map[string]int{"prefix": 0, "username": 1, "account": 2, "zone": 3}[wrong.Part]
	if at != 1 && tokens[1] != "customer" || at == 1 && !strings.EqualFold(tokens[1], "customer") {
		return ""
	}
	before := strings.Join(tokens[:min(at, len(tokens))], "-")
	if at >= len(tokens) {
		return ": " + before + "-▸ ends there"
	}
	if strings.ContainsFunc(tokens[at], func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		return ": " + before + "-▸"
	}
	return ": " + strings.TrimPrefix(before+"-▸", "-") + model.Cut(tokens[at], 40) + "…"
}
