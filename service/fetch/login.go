package fetch

import (
	"errors"
	"fmt"

	"zonedeck/model"
	"zonedeck/service/importers"
)

// LoginForms lists what ReadLogin accepts.
const LoginForms = "a URL, host:port:user:password, user:password@host:port, user:password, a username, or a curl command"

// ReadLogin parses a pasted login that contains a username. Its errors list the
// accepted forms and do not repeat the pasted text.
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
		return model.Login{}, fmt.Errorf("%w; accepted are %s", err, LoginForms)
	}
	return l, nil
}
